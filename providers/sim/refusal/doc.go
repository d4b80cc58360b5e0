// Package refusal says with which flags and which configuration a component of Kubernetes, or etcd,
// exits when it starts, and with which words. What the real components did decides: verdicts.txt.gz
// holds their verdicts, made of the tables of cmd/lab/internal/verdict. Only where none of them was
// asked about a flag do the rules of config/componentflag decide, with which configurations are
// validated; so a rule that is wrong does not make the simulator wrong, too.
//
// It models nothing that a component does after its start.
package refusal
