// Package session is one run over one configuration folder and its state: it loads both,
// observes the hosts, plans, and evaluates the policies.
//
// It changes no host. It takes the state's lock, and writes the state that a command hands it.
package session
