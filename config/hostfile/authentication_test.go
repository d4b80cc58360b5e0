package hostfile_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/hostfile"
)

const (
	head    = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	mapped  = "claimMappings: {username: {claim: sub, prefix: 'oidc:'}}"
	issuing = "issuer: {url: 'https://issuer.example.com', audiences: [kubernetes]}"
)

// TestAuthenticationConfigurationIsChecked checks what the API server requires of the file.
func TestAuthenticationConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	jwt := func(parts ...string) string { return head + "jwt: [{" + strings.Join(parts, ", ") + "}]\n" }
	for name, c := range map[string]struct{ content, want string }{
		"jwt":                 {jwt(issuing, mapped), ""},
		"one condition":       {head + "anonymous: {enabled: true, conditions: [{path: /livez}]}\n", ""},
		"beta":                {strings.Replace(jwt(issuing, mapped), "/v1\n", "/v1beta1\n", 1), ""},
		"beta is checked":     {strings.Replace(jwt(issuing), "/v1\n", "/v1beta1\n", 1), "jwt[0].claimMappings.username needs claim or expression"},
		"unknown field":       {head + "jwts: []\n", "unknown field"},
		"no url":              {jwt("issuer: {audiences: [a]}", mapped), "jwt[0].issuer.url is missing"},
		"no URL":              {jwt("issuer: {url: 'https://%', audiences: [a]}", mapped), "jwt[0].issuer.url is no URL"},
		"http":                {jwt("issuer: {url: 'http://a', audiences: [a]}", mapped), "jwt[0].issuer.url does not begin with https://"},
		"query":               {jwt("issuer: {url: 'https://a?b=c', audiences: [a]}", mapped), "jwt[0].issuer.url has a user, a query or a fragment"},
		"issuer twice":        {head + "jwt: [{" + issuing + ", " + mapped + "}, {" + issuing + ", " + mapped + "}]\n", "jwt[1].issuer.url is that of another element, and each issuer has one"},
		"discovery twice":     {head + "jwt: [{issuer: {url: 'https://a', discoveryURL: 'https://d', audiences: [a]}, " + mapped + "}, {issuer: {url: 'https://b', discoveryURL: 'https://d', audiences: [a]}, " + mapped + "}]\n", "jwt[1].issuer.discoveryURL is that of another element"},
		"discovery":           {jwt("issuer: {url: 'https://a', discoveryURL: 'https://a/', audiences: [a]}", mapped), "jwt[0].issuer.discoveryURL is its url, and has to differ"},
		"no audience":         {jwt("issuer: {url: 'https://a', audiences: []}", mapped), "jwt[0].issuer.audiences is empty, and one is required"},
		"empty audience":      {jwt("issuer: {url: 'https://a', audiences: ['']}", mapped), "jwt[0].issuer.audiences has an empty element"},
		"audience twice":      {jwt("issuer: {url: 'https://a', audiences: [a, a], audienceMatchPolicy: MatchAny}", mapped), "jwt[0].issuer.audiences has an element twice"},
		"policy":              {jwt("issuer: {url: 'https://a', audiences: [a, b]}", mapped), "jwt[0].issuer.audienceMatchPolicy has to be MatchAny"},
		"authority":           {jwt("issuer: {url: 'https://a', audiences: [a], certificateAuthority: x}", mapped), "jwt[0].issuer.certificateAuthority: "},
		"claim without":       {jwt(issuing, "claimMappings: {username: {claim: sub}}"), "jwt[0].claimMappings.username has a claim without prefix, which may be empty"},
		"prefix alone":        {jwt(issuing, "claimMappings: {username: {expression: claims.sub, prefix: x}}"), "jwt[0].claimMappings.username has a prefix without claim"},
		"both":                {jwt(issuing, "claimMappings: {username: {claim: sub, prefix: '', expression: claims.sub}}"), "jwt[0].claimMappings.username has both claim and expression"},
		"groups":              {jwt(issuing, "claimMappings: {username: {claim: sub, prefix: ''}, groups: {claim: groups}}"), "jwt[0].claimMappings.groups has a claim without prefix"},
		"uid":                 {jwt(issuing, "claimMappings: {username: {claim: sub, prefix: ''}, uid: {claim: a, expression: b}}"), "jwt[0].claimMappings.uid has both claim and expression"},
		"extra":               {jwt(issuing, "claimMappings: {username: {claim: sub, prefix: ''}, extra: [{key: tenant, valueExpression: claims.a}]}"), "jwt[0].claimMappings.extra[0].key is no path in lower case with a domain before it, as in example.com/tenant"},
		"extra of Kubernetes": {jwt(issuing, "claimMappings: {username: {claim: sub, prefix: ''}, extra: [{key: a.k8s.io/b, valueExpression: claims.a}]}"), "jwt[0].claimMappings.extra[0].key has a domain that is reserved for Kubernetes"},
		"extra of nothing":    {jwt(issuing, "claimMappings: {username: {claim: sub, prefix: ''}, extra: [{key: a.b/c}]}"), "jwt[0].claimMappings.extra[0].valueExpression is missing"},
		"extra twice":         {jwt(issuing, "claimMappings: {username: {claim: sub, prefix: ''}, extra: [{key: a.b/c, valueExpression: x}, {key: a.b/c, valueExpression: x}]}"), "jwt[0].claimMappings.extra has a key twice"},
		"rule":                {jwt(issuing, mapped, "claimValidationRules: [{requiredValue: x}]"), "jwt[0].claimValidationRules[0] needs either claim or expression"},
		"rule with message":   {jwt(issuing, mapped, "claimValidationRules: [{claim: a, message: x}]"), "jwt[0].claimValidationRules[0] has a message, which belongs to an expression"},
		"rule with value":     {jwt(issuing, mapped, "claimValidationRules: [{expression: a, requiredValue: x}]"), "jwt[0].claimValidationRules[0] has a requiredValue, which belongs to a claim"},
		"user rule":           {jwt(issuing, mapped, "userValidationRules: [{message: x}]"), "jwt[0].userValidationRules[0].expression is missing"},
		"rule twice":          {jwt(issuing, mapped, "userValidationRules: [{expression: x}, {expression: x}]"), "jwt[0] has a rule twice"},
		"conditions":          {head + "anonymous: {enabled: false, conditions: [{path: /livez}]}\n", "anonymous has conditions, and enabled is false"},
		"many":                {head + "jwt: [" + strings.Repeat("{"+issuing+"},", 65) + "]\n", "it has 65 elements in jwt, and at most 64 are allowed"},
	} {
		err := hostfile.Check("authentication-config", c.content)
		if got := ""; err != nil {
			if got = err.Error(); c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%s: accepted, want %q", name, c.want)
		}
	}
}
