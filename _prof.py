import sys,subprocess,time,threading
sys.argv=["x"]
from tests.bench import engine
db=sys.argv[1] if len(sys.argv)>1 else "sqlite"
import os
db=os.environ.get("DB","sqlite"); load=os.environ.get("LOAD","plain"); which=os.environ.get("WHICH","worker")
with engine.Stack(db) as st:
    p=next(x for x in st.processes if x.name==which)
    ps=subprocess.Popen(["py-spy","record","-p",str(p.pid),"-F","-d","9","-r","300","-f","raw","-o","/tmp/vs/prof.txt"]+(["-g"] if os.environ.get("GIL") else []),stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)
    time.sleep(1)
    r=st._drive(f"bench-{load}",int(os.environ.get("N","350")),10)
    cpu={}
    import psutil
    for q in st.counted:
        t=psutil.Process(q.pid).cpu_times(); cpu[q.name]=round(t.user+t.system,2)
    print(r,cpu)
    ps.wait()
