/* A plan out of a set of templates, rehearse-templates/2. */
#include "plan/plan.h"

#include <string.h>

static bool no_nodes(const struct doc *doc, const struct doc_node *list, int nodes, struct error *err)
{
    const struct doc_node *last = list->first_child;
    while (last && last->next)
        last = last->next;
    const struct doc_node *from = last ? doc_find(list->first_child, "nodes") : NULL,
                          *to = last ? doc_find(last, "nodes") : NULL;
    if (!from || !to || from->type != DOC_NUMBER || to->type != DOC_NUMBER)
        return doc_error(doc, list, err, "expected templates with a number of nodes each");
    return nodes > 0 ? error_set(err, ERROR_INPUT, "%s: has templates for %s to %s nodes, found %d",
                                 doc->path, from->text, to->text, nodes)
                     : error_set(err, ERROR_INPUT,
                                 "%s: has templates for %s to %s nodes: choose one with --nodes N", doc->path,
                                 from->text, to->text);
}

static bool read_template(struct plan *plan, const struct doc *doc, const struct doc_node *list, int nodes,
                          struct error *err)
{
    if (!doc_is_list(doc, list, err))
        return false;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        const struct doc_node *own = doc_find(node, "nodes"), *map = doc_find(node, "plan"),
                              *reason = doc_find(node, "reason");
        if (!own || own->type != DOC_NUMBER || own->number != nodes)
            continue;
        if (map && map->type == DOC_MAP)
            return plan_read(plan, doc, map, err);
        return error_set(err, ERROR_INPUT, "%s: has no plan for %d nodes%s%.200s", doc->path, nodes,
                         reason && reason->text ? ": " : "", reason && reason->text ? reason->text : "");
    }
    return no_nodes(doc, list, nodes, err);
}

bool plan_load_template(struct plan *plan, const char *path, int nodes, struct error *err)
{
    struct doc doc;
    bool ok = false;
    if (!doc_load(&doc, path, err))
        return false;
    const struct doc_node *format = doc.root->type == DOC_MAP ? doc_find(doc.root, "format") : NULL;
    if (format && format->text && strncmp(format->text, "rehearse-templates/", 19) == 0) {
        const struct doc_node *list = doc_need(&doc, doc.root, "templates", err);
        ok = list && read_template(plan, &doc, list, nodes, err);
    } else if (nodes == 0)
        ok = plan_read(plan, &doc, doc.root, err);
    else
        error_set(err, ERROR_INPUT, "%s: not a set of templates: leave out --nodes", path);
    doc_release(&doc);
    return ok;
}
