// Package planfile saves a plan in a file, and reports whether a plan made later is still the same.
//
// A saved plan is not replayed. Apply observes and plans again under the lock, and carries out that
// plan if it equals the saved one (Compare): so what runs is exactly what was reviewed, and fits
// the current hosts. A plan holds no secrets, so it needs the configuration and variables again.
package planfile
