package planner

import "strings"

// sharedJoinToken is the description of the token that all nodes of an apply shared in earlier versions.
const sharedJoinToken = "kubewright: for the nodes that join in one apply"

const joinTokenPrefix = "kubewright: for the join of "

// JoinTokenDescription returns the description of the bootstrap token with which a node joins.
func JoinTokenDescription(node string) string { return joinTokenPrefix + node }

// IsJoinToken reports whether a bootstrap token with the description was made for a join.
func IsJoinToken(description string) bool {
	return description == sharedJoinToken || strings.HasPrefix(description, joinTokenPrefix)
}
