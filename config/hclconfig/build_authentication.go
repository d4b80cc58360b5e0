package hclconfig

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
)

const authenticationSummary = "Invalid authentication block"

// addAuthentication adds to a cluster the file and argument that an authentication block stands for.
func addAuthentication(e *evaluator, b *block, c *config.Cluster) {
	a := e.one(b, "authentication")
	if !a.written {
		return
	}
	excludeFlags(e, c)
	to := composer{e: e, c: c, block: "authentication"}
	jwts, anonymous := e.all(a, "jwt"), e.one(a, "anonymous")
	text, at := "", a.at
	switch own := a.attrs["configuration"]; {
	case own.set() && (len(jwts) > 0 || anonymous.written):
		e.errorAt(own.at, authenticationSummary, "configuration is a whole AuthenticationConfiguration, and excludes the blocks jwt and anonymous. Write one or the other.")
		return
	case own.set():
		text, at = e.str(a, "configuration"), own.at
	case len(jwts) == 0 && !anonymous.written:
		e.errorAt(a.at, authenticationSummary, "An authentication block has a jwt block for each issuer of tokens, an anonymous block, or a configuration. Write one of them.")
		return
	case slices.ContainsFunc(jwts, func(j *block) bool { return incomplete(e, j) }):
		return
	default:
		text = authenticationConfiguration(e, e.strings(anonymous, "paths"), jwts)
	}
	hidden := false
	for path := range c.Sensitive {
		hidden = hidden || strings.HasPrefix(path, "authentication.")
	}
	to.file(config.AuthenticationPath, text, hidden, at)
	to.arg("authentication-config", config.AuthenticationPath, at)
}

// excludeFlags refuses arguments with which an API server does not start beside the file.
func excludeFlags(e *evaluator, c *config.Cluster) {
	for _, arg := range c.APIServer.Args {
		if name := strings.ReplaceAll(arg.Name, "_", "-"); strings.HasPrefix(name, "oidc-") || name == "anonymous-auth" {
			e.add(diag.Errorf("Setting is written twice", "arg %q of api_server and the authentication block both say who is authenticated, and an API server does not start with both. Remove the argument.", arg.Name).At(arg.Source))
		}
	}
}

// authenticationConfiguration returns the file's content.
func authenticationConfiguration(e *evaluator, paths []string, jwts []*block) string {
	conditions := []any{}
	for _, path := range paths {
		conditions = append(conditions, map[string]any{"path": path})
	}
	list := []any{}
	for _, j := range jwts {
		list = append(list, jwtAuthenticator(e, j))
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": list,
		"anonymous": map[string]any{"enabled": true, "conditions": conditions},
	})
	if err != nil {
		panic("internal error: authentication: " + err.Error()) // maps of text can be written
	}
	return string(text)
}

// incomplete reports a jwt block without a block that it needs.
func incomplete(e *evaluator, j *block) bool {
	for _, name := range []string{"issuer", "claim_mappings"} {
		if !e.one(j, name).written {
			e.errorAt(j.at, authenticationSummary, "A jwt block says who issues the tokens, and which claim names the user. Write %s into it.", name)
			return true
		}
	}
	return false
}

func jwtAuthenticator(e *evaluator, j *block) map[string]any {
	i, m := e.one(j, "issuer"), e.one(j, "claim_mappings")
	audiences := e.strings(i, "audiences")
	issuer := fields(e, i, map[string]string{"url": "url", "discovery_url": "discoveryURL", "certificate_authority": "certificateAuthority", "audience_match_policy": "audienceMatchPolicy"})
	issuer["audiences"] = append([]string{}, audiences...)
	if len(audiences) > 1 && !i.attrs["audience_match_policy"].set() {
		issuer["audienceMatchPolicy"] = "MatchAny"
	}
	claim := map[string]string{"claim": "claim", "expression": "expression", "prefix": "prefix"}
	mappings := map[string]any{}
	for _, name := range []string{"username", "groups", "uid"} {
		if b := e.one(m, name); b.written {
			mappings[name] = fields(e, b, claim)
		}
	}
	var extra []any
	for _, x := range e.all(m, "extra") {
		extra = append(extra, map[string]any{"key": x.label, "valueExpression": e.str(x, "value_expression")})
	}
	if extra != nil {
		mappings["extra"] = extra
	}
	out := map[string]any{"issuer": issuer, "claimMappings": mappings}
	for block, field := range map[string]string{"claim_validation_rule": "claimValidationRules", "user_validation_rule": "userValidationRules"} {
		var rules []any
		for _, r := range e.all(j, block) {
			rules = append(rules, fields(e, r, map[string]string{"claim": "claim", "required_value": "requiredValue", "expression": "expression", "message": "message"}))
		}
		if rules != nil {
			out[field] = rules
		}
	}
	return out
}

// fields returns the written attributes of a block under the names of the configuration.
func fields(e *evaluator, b *block, names map[string]string) map[string]any {
	out := map[string]any{}
	for attribute, name := range names {
		if b.row.Attribute(attribute) != nil && b.attrs[attribute].set() {
			out[name] = e.str(b, attribute)
		}
	}
	return out
}
