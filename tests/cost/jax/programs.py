"""Programs whose counts by `--rules xla` must be those of JAX's own lowered.cost_analysis(), which are in counts.csv.

    python programs.py FOLDER [NAME]...    # with jax 0.10.2 and optax: writes NAME.mlir and counts.csv anew
"""
import os, sys
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'
import jax, jax.numpy as jnp, numpy as np
from jax import lax
P={}
def prog(f): P[f.__name__]=f; return f
S=lambda s,d=jnp.float32: jax.ShapeDtypeStruct(s,d)
@prog
def mlp_adam():
    def loss(p,x,y):
        for w,b in p: x=jax.nn.gelu(x@w+b,approximate=False)
        return jnp.mean((x-y)**2)
    def step(p,m,v,x,y,t):
        g=jax.grad(loss)(p,x,y)
        m=jax.tree.map(lambda a,b:.9*a+.1*b,m,g); v=jax.tree.map(lambda a,b:.99*a+.01*b*b,v,g)
        p=jax.tree.map(lambda p,m,v:p-1e-3*(m/(1-.9**t))/(jnp.sqrt(v/(1-.99**t))+1e-8),p,m,v)
        return p,m,v
    p=[(S((64,128)),S((128,))),(S((128,64)),S((64,)))]
    return step,(p,p,p,S((32,64)),S((32,64)),S((),jnp.float32))
@prog
def conv_net():
    def f(ws,x,y):
        def loss(ws):
            h=x
            for w in ws: 
                h=jax.nn.relu(lax.conv_general_dilated(h,w,(2,2),'SAME',dimension_numbers=('NHWC','HWIO','NHWC')))
            h=h.mean((1,2)); return -jnp.mean(jax.nn.log_softmax(h)[jnp.arange(h.shape[0]),y])
        return jax.value_and_grad(loss)(ws)
    return f,([S((3,3,3,16)),S((3,3,16,32)),S((3,3,32,10))],S((8,32,32,3)),S((8,),jnp.int32))
@prog
def attention_mask():
    def f(q,k,v,n):
        s=jnp.einsum('bthd,bshd->bhts',q,k)/np.sqrt(q.shape[-1])
        m=jnp.tril(jnp.ones(s.shape[-2:],bool)); s=jnp.where(m,s,-1e9)
        s=jnp.where(jnp.arange(s.shape[-1])[None,None,None]<n[:,None,None,None],s,-jnp.inf)
        return jnp.einsum('bhts,bshd->bthd',jax.nn.softmax(s),v)
    def g(q,k,v,n): return jax.grad(lambda q:f(q,k,v,n).sum())(q)
    return g,(S((2,32,4,16),jnp.bfloat16),)*3+(S((2,),jnp.int32),)
@prog
def rng_dropout():
    def f(key,x):
        k1,k2=jax.random.split(key)
        y=jnp.where(jax.random.bernoulli(k1,.9,x.shape),x/.9,0)
        return y+jax.random.normal(k2,x.shape)*.1, jax.random.randint(k1,(16,),0,100), jax.random.permutation(k2,64)
    return f,(S((2,),jnp.uint32),S((128,64)))
@prog
def rnn_scan_grad():
    def f(w,u,x):
        def cell(h,xt): h=jnp.tanh(h@w+xt@u); return h,h
        h,ys=lax.scan(cell,jnp.zeros((x.shape[1],w.shape[0])),x); return (ys**2).sum()
    return jax.grad(f,(0,1)),(S((32,32)),S((16,32)),S((20,8,16)))
@prog
def scan_layers_remat():
    def f(ps,x):
        @jax.checkpoint
        def layer(x,p):
            w1,w2,g=p
            h=x*lax.rsqrt(jnp.mean(x.astype(jnp.float32)**2,-1,keepdims=True)+1e-6).astype(x.dtype)*g
            return x+jax.nn.silu(h@w1)@w2,None
        x,_=lax.scan(layer,x,ps); return jnp.sum(x.astype(jnp.float32))
    return jax.value_and_grad(f),((S((4,64,128),jnp.bfloat16),S((4,128,64),jnp.bfloat16),S((4,64),jnp.bfloat16)),S((16,64),jnp.bfloat16))
@prog
def cumulatives():
    def f(x): return jnp.cumsum(x,0),jnp.cumprod(x,1),lax.cummax(x,axis=0),lax.cumlogsumexp(x,axis=1),lax.associative_scan(jnp.add,x),jnp.cumsum(x,1,dtype=jnp.int32)
    return f,(S((64,48)),)
@prog
def windows():
    def f(x): return (lax.reduce_window(x,-jnp.inf,lax.max,(1,3,3,1),(1,2,2,1),'SAME'),lax.reduce_window(x,0.,lax.add,(1,2,2,1),(1,1,1,1),'VALID'),
        jax.grad(lambda x:lax.reduce_window(x,-jnp.inf,lax.max,(1,2,2,1),(1,2,2,1),'VALID').sum())(x), jax.grad(lambda x:lax.reduce_window(x,0.,lax.add,(1,3,3,1),(1,1,1,1),'SAME').sum())(x))
    return f,(S((2,16,16,8)),)
@prog
def sorting():
    def f(x,y): return jnp.sort(x,0),jnp.argsort(y),lax.top_k(x,5),jnp.median(x,1),jnp.unique(y,size=20),jnp.searchsorted(jnp.sort(y),y),lax.approx_max_k(x,4),jnp.argmax(x,1),jnp.percentile(x,30)
    return f,(S((32,64)),S((128,),jnp.int32))
@prog
def specials():
    import jax.scipy.special as sp
    def f(x): return lax.lgamma(x),lax.digamma(x),sp.erfc(x),sp.erfinv(x),sp.i0e(x),sp.i1e(x),jnp.sinh(x),jnp.arcsinh(x),jnp.arctanh(x),jnp.arccos(x),lax.betainc(x,x,x),sp.gammainc(x,x)
    return f,(S((64,32)),)
@prog
def specials_bf16():
    import jax.scipy.special as sp
    def f(x): return lax.lgamma(x),sp.erfc(x),sp.erfinv(x),sp.erf(x),jnp.cosh(x),jnp.arcsin(x),jnp.arccosh(x),lax.tan(x),jnp.cbrt(x),jnp.sinc(x),sp.zeta(x+1,x),sp.polygamma(2,x)
    return f,(S((64,32),jnp.bfloat16),)
@prog
def conds():
    def f(p,i,x,w): 
        a=lax.cond(p,lambda x:x@w,lambda x:jnp.sin(x)*2,x)
        b=lax.switch(i,[lambda x:x+1,lambda x:x*2,lambda x:(x@w).T],x)
        c=lax.fori_loop(0,10,lambda i,x:x@w+i,x)
        d=lax.while_loop(lambda c:jnp.sum(c[0])<100,lambda c:(c[0]*2+x,c[1]+1),(x,0))
        return a,b,c,d
    return f,(S((),jnp.bool_),S((),jnp.int32),S((32,32)),S((32,32)))
@prog
def linalg():
    def f(a,b): 
        s=a@a.T+jnp.eye(24); c=jnp.linalg.cholesky(s)
        return jax.scipy.linalg.cho_solve((c,True),b),jnp.linalg.qr(a),jnp.linalg.svd(a),jnp.linalg.eigh(s),jnp.linalg.solve(s,b),jnp.linalg.det(s),jnp.linalg.inv(s)
    return f,(S((24,24)),S((24,3)))
@prog
def ffts():
    def f(x,y): return jnp.fft.fft(x),jnp.fft.rfft2(y),jnp.fft.ifft(x),jnp.fft.irfft(x),jnp.abs(x),jnp.exp(x),jnp.log(x),jnp.sqrt(x),x*x/(x+1)
    return f,(S((16,64),jnp.complex64),S((8,32,32)))
@prog
def gathers():
    def f(t,i,u): return t[i],t.at[i].add(u),t.at[i].max(u),jnp.take_along_axis(u,(i%8)[:,None],1),t[3:20:2,::-1],jnp.roll(t,3,0),lax.dynamic_slice(t,(i[0],0),(4,8)),jax.grad(lambda t:(t[i]**2).sum())(t),jnp.repeat(u,3,0),jnp.pad(u,((1,2),(0,3)),mode='reflect')
    return f,(S((100,8)),S((32,),jnp.int32),S((32,8)))
@prog
def quants():
    def f(x,w8,w4,s,w8f):
        a=x@(w8.astype(jnp.bfloat16)*s); b=x@(w4.astype(jnp.bfloat16)*s)
        c=lax.dot_general(x.astype(jnp.float8_e4m3fn),w8f,(((1,),(0,)),((),())),preferred_element_type=jnp.float32)
        q=jnp.clip(jnp.round(x/0.1),-127,127).astype(jnp.int8); d=lax.dot_general(q,w8,(((1,),(0,)),((),())),preferred_element_type=jnp.int32)
        e=(x*8).astype(jnp.float4_e2m1fn)
        return a,b,c,d,e
    return f,(S((16,64),jnp.bfloat16),S((64,128),jnp.int8),S((64,128),jnp.int4),S((128,),jnp.bfloat16),S((64,128),jnp.float8_e4m3fn))
@prog
def ragged():
    def f(x,w,g): 
        return jax.value_and_grad(lambda x,w:lax.ragged_dot(x,w,g).sum(),(0,1))(x,w)
    return f,(S((64,32)),S((4,32,48)),S((4,),jnp.int32))
@prog
def norms_losses():
    def f(x,g,b,lab):
        m=x.mean(-1,keepdims=True);v=x.var(-1,keepdims=True);h=(x-m)/jnp.sqrt(v+1e-5)*g+b
        l=jax.nn.logsumexp(h,-1);one=jax.nn.one_hot(lab,h.shape[-1]);
        return (l-(h*one).sum(-1)).mean(),jax.nn.softplus(h),jax.nn.elu(h),jax.nn.glu(h),jax.nn.leaky_relu(h),jax.nn.standardize(h),jnp.linalg.norm(h),jnp.std(h,0)
    def k(x,g,b,lab): return jax.grad(lambda *a:f(*a,lab)[0],(0,1,2))(x,g,b),f(x,g,b,lab)
    return k,(S((32,64)),S((64,)),S((64,)),S((32,),jnp.int32))
@prog
def vmapped():
    def f(w,x): return jax.vmap(jax.hessian(lambda x:jnp.tanh(w@x).sum()))(x),jax.jacfwd(lambda w:jnp.sin(w@x[0]))(w),jax.jvp(lambda x:x@w,(x,),(x,)) 
    return f,(S((16,16)),S((8,16)))
@prog
def bits_ints():
    def f(i,u): return i//7,i%7,jnp.bitwise_count(u),lax.clz(u),i<<2,jnp.right_shift(i,1),i**3,jnp.gcd(i,i+1),lax.bitcast_convert_type(u,jnp.float32),jnp.packbits((u&1).astype(jnp.uint8)),jnp.divmod(i,3),jnp.bincount(i&15,length=16),jnp.interp(u.astype(jnp.float32),jnp.arange(8.),jnp.arange(8.)),jnp.histogram(u.astype(jnp.float32),10)
    return f,(S((256,),jnp.int32),S((256,),jnp.uint32))
@prog
def shardmaps():
    from jax.sharding import Mesh,PartitionSpec as Q
    mesh=jax.sharding.AbstractMesh((4,),('d',))
    mesh=Mesh(np.array(jax.devices()[:4]),('d',))
    def f(x,w):
        def g(x,w): 
            y=jnp.tanh(x@lax.all_gather(w,'d',tiled=True)); return lax.psum(y.sum(),'d'),lax.all_to_all(y,'d',1,0,tiled=True),lax.ppermute(y,'d',[(0,1),(1,2)]),lax.psum_scatter(y,'d',scatter_dimension=1,tiled=True)
        return jax.shard_map(g,mesh=mesh,in_specs=(Q('d'),Q('d')),out_specs=(Q(),Q('d'),Q('d'),Q('d')))(x,w)
    return f,(S((32,64)),S((64,64)))
@prog
def vit_blocks():
    def f(ps,x):
        def blk(x,p):
            qkv,o,a,b=p
            h=jax.nn.standardize(x); q,k,v=jnp.split((h@qkv).reshape(*h.shape[:2],3,4,16),3,2)
            q,k,v=[t[:,:,0] for t in (q,k,v)]
            h=jax.nn.dot_product_attention(q,k,v,is_causal=True).reshape(x.shape)@o; x=x+h
            return x+jax.nn.gelu(x@a)@b
        for p in ps: x=blk(x,p)
        return (x**2).mean()
    p=(S((64,192)),S((64,64)),S((64,256)),S((256,64)))
    return jax.grad(f),([p,p],S((2,32,64)))
@prog
def gru_masked_ctc():
    import optax
    def f(lg,lp,lab,labp): return jax.value_and_grad(lambda l:optax.ctc_loss(l,lp,lab,labp).mean())(lg)
    return f,(S((2,20,12)),S((2,20)),S((2,6),jnp.int32),S((2,6)))
@prog
def optax_adamw():
    import optax
    tx=optax.chain(optax.clip_by_global_norm(1.),optax.adamw(optax.cosine_decay_schedule(1e-3,1000),weight_decay=.1))
    p={'a':jnp.zeros((64,64)),'b':jnp.zeros((64,))}
    st=tx.init(p); sh=jax.tree.map(lambda x:S(x.shape,x.dtype),(p,st))
    def f(p,s,x):
        g=jax.grad(lambda p:jnp.mean(jax.nn.relu(x@p['a']+p['b'])))(p); u,s=tx.update(g,s,p); return optax.apply_updates(p,u),s
    return f,(sh[0],sh[1],S((16,64)))
@prog
def diffusion_conv1d():
    def f(w,u,x,t):
        e=jnp.exp(-jnp.arange(16)/16*np.log(1e4)); e=t[:,None]*e; e=jnp.concatenate([jnp.sin(e),jnp.cos(e)],-1)
        h=lax.conv_general_dilated(x,w,(1,),[(2,2)],dimension_numbers=('NWC','WIO','NWC'))+e[:,None]
        h=jax.image.resize(h,(h.shape[0],64,32),'bilinear'); h=lax.conv_transpose(h,u,(2,),'SAME',dimension_numbers=('NWC','WIO','NWC'))
        return h
    return f,(S((5,8,32)),S((3,32,8)),S((2,32,8)),S((2,)))
@prog
def ssm_assoc():
    def f(a,b,x):
        def op(l,r): return l[0]*r[0],r[0]*l[1]+r[1]
        _,h=lax.associative_scan(op,(a,b*x),axis=1); return (h**2).sum()
    return jax.grad(f,(0,1)),(S((2,37,16)),)*3
@prog
def beam_decode():
    def f(w,tok,cache):
        def step(c,_):
            tok,cache,i=c; h=w[tok]; cache=lax.dynamic_update_slice(cache,h[:,None],(0,i,0)); lg=jnp.einsum('bsd,bd->bs',cache,h)
            p=jax.nn.softmax(lg); s,k=lax.top_k(p@cache.sum(0),2); return (k[:,0],cache,i+1),s
        return lax.scan(step,(tok,cache,0),None,length=8)
    return f,(S((50,16)),S((4,),jnp.int32),S((4,12,16)))
@prog
def mixed_types():
    def f(x,y,z): return (x.astype(jnp.float16)*2+y).astype(jnp.float32)@z, jnp.nan_to_num(z), jnp.allclose(z,z*2), jnp.linspace(0,1,50)*z[0,0], jnp.meshgrid(z[0],z[1]), jnp.triu(z), jnp.diag(z), jnp.kron(z[:4,:4],z[:4,:4]), jnp.trace(z), jnp.where(z>0,z,0).sum(), jnp.polyval(jnp.array([1.,2.,3.]),z)
    return f,(S((32,32),jnp.bfloat16),S((32,32),jnp.float16),S((32,32)))
@prog
def constant_places():
    def f(x,y): return x[:,jnp.array([2])],x[jnp.array([0]),jnp.array([0])],jax.grad(lambda y: (jnp.zeros((4,8,9)).at[:,:3,:3].set(y)**2).sum())(y),x[1,3],x.at[:,:2].set(0.)[...,::2]
    return f,(S((16,32)),S((4,3,3)))

if __name__ == '__main__':
    folder, names = sys.argv[1], sys.argv[2:] or sorted(P)
    with open(folder + '/counts.csv', 'w') as table:
        print('name,flops,bytes', file=table)
        for name in names:
            f, a = P[name]()
            lowered = jax.jit(f).lower(*a)
            cost = lowered.cost_analysis()
            open(f'{folder}/{name}.mlir', 'w').write(lowered.as_text())
            print(f'{name},{cost["flops"]:.0f},{cost["bytes accessed"]:.0f}', file=table)
