// Package session is one run over one configuration folder and its state: it loads both,
// observes the hosts, plans, and asks the policies about the plan.
//
// It changes no host; of the state it takes the lock, and writes what a command hands it.
package session
