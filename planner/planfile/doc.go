// Package planfile keeps a plan in a file, and says whether a plan that was made
// since is still the same.
//
// A saved plan is not replayed. Apply observes and plans again under the lock,
// and carries that out if it is what was saved (Compare): so a plan can be
// trusted to be exactly what was reviewed, and to fit what is there. A plan
// holds no secrets, so configuration and variables are needed again.
package planfile
