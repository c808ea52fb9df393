import pytest
from tests.examples.play import *
from runs.trust.narrative import narrative
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["checkout","payments","search-noisy","search-quiet","quick-look","alertmanager"])
def test_it(name):
    import time
    t=time.time()
    run = play(payload(name), source="alertmanager" if name=="alertmanager" else "generic")
    print("#####", name, run.status, run.reason, round(time.time()-t,2))
    for s in steps(run).values():
        print("==", s.name, s.status, s.error, s.primary_confidence, s.duration_ms)
        if s.trust_report:
            for l in narrative(s.trust_report): print("     ", l)
        for n,g in signals(s).items(): print("   --", n, g.state, g.score, g.passed, g.error, g.duration_ms, {k:v for k,v in g.detail.items() if k in ("differs","exit_code","stdout","stderr","command","warnings","problems","supported","total")})
