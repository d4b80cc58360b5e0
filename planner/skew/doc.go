// Package skew knows Kubernetes' releases and its version skew policy: which versions of
// the components may run together, and through which releases an upgrade goes.
//
// It imports no other package of this module, and knows neither plans nor configurations.
package skew
