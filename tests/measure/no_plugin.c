/* A shared library without the entry of a plugin. */
int no_plugin(void);
int no_plugin(void)
{
    return 0;
}
