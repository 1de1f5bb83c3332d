"""DualQuery: synthetic records that answer drawn queries, and what the draws tell."""
from __future__ import annotations
from dataclasses import dataclass
from math import log, sqrt
import numpy as np
from skdp.graphical import Domain, EmpiricalDistribution
from skdp.graphical.draw_likelihood import DrawLikelihood
from skdp.graphical.max_sum import max_sum
from skdp.graphical.single_queries import SingleQueries
from skdp.pgm.strategies.base import Strategy, refuse_large_model, varying_columns
from skdp.pgm.workload import Workload
from skdp.queries import LinearMarginal, AnswerGaps


F=1.
class DualQuery(Strategy):
    def __init__(self, n_rounds="auto", samples_per_round="auto", learning_rate="auto", inference="graphical_model"):
        self.n_rounds=n_rounds; self.samples_per_round=samples_per_round; self.learning_rate=learning_rate; self.inference=inference
    def check(self, public, workload, max_model_size):
        pass
    def run(self, session):
        schema=session.schema; domain=Domain.from_schema(schema)
        w=session.workload or Workload.all_marginals(varying_columns(session.public),2)
        qs=SingleQueries(domain,w.cliques,w.linear(schema),w.weights)
        T,s=self.n_rounds,self.samples_per_round
        n=session.public.n_records; m=len(qs)
        b=session.budget
        eta = b.total*n/(s*T*(T-1)) if b.is_pure else n*sqrt(12*b.total/(s*T*(T-1)*(2*T-1)))
        print("m",m,"eta",eta)
        rng=np.random.default_rng(0)
        lm=[LinearMarginal(c,q) for c,q in zip(w.cliques,qs.queries)]
        behind=np.zeros(m); draws=[];recs=[]; inexact=0
        for t in range(1,T+1):
            if t==1: d=rng.integers(0,2*m,size=s)
            else:
                price = b.left if t==T else (b.share(2*(t-1),T*(T-1)) if b.is_pure else b.share(6*(t-1)**2,T*(T-1)*(2*T-1)))
                d=session.draw(AnswerGaps(lm,qs.split(behind),t-1,w.weights),price,s)
            draws.append(d)
            terms=[qs.term(int(i%m),1. if i<m else -1.) for i in d]
            x,exact=max_sum(domain,terms,rng); inexact+=not exact
            recs.append(x); behind=behind+qs.of_record(x)
        print("inexact",inexact)
        self.dbg=(qs,draws,recs,eta)
        if self.inference=="synthetic_records":
            return EmpiricalDistribution(domain,np.array(recs),n)
        L=DrawLikelihood(qs,n,eta,draws,recs)
        rho=s*eta**2*(T-1)*T*(2*T-1)/(12*n*n); sig=sqrt(m/(2*rho)); print("sigma",sig)
        return session.fit_loss(L,w.cliques,s*T,F/sig)
