package hostfile

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	v1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/yaml"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// authentication returns a reader of an AuthenticationConfiguration. All its versions have the same
// fields.
func authentication[T any](content []byte) error {
	if err := strict[T](nil)(content); err != nil {
		return err
	}
	var c v1.AuthenticationConfiguration
	if err := yaml.Unmarshal(content, &c); err != nil {
		return errors.New(plain(err))
	}
	return checkAuthentication(&c)
}

// AnonymousPaths returns the paths at which an AuthenticationConfiguration lets requests without
// credentials pass; all reports that it does not limit them.
func AnonymousPaths(content string) (paths []string, all bool) {
	var c v1.AuthenticationConfiguration
	if err := yaml.Unmarshal([]byte(content), &c); err != nil || c.Anonymous == nil {
		return nil, true // the former is reported
	}
	for _, condition := range c.Anonymous.Conditions {
		paths = append(paths, condition.Path)
	}
	return paths, c.Anonymous.Enabled && len(paths) == 0
}

// checkAuthentication checks what the API server requires of an authentication configuration
// (k8s.io/apiserver: pkg/apis/apiserver/validation), but for its expressions, which only the API server
// compiles. Its errors quote no value.
func checkAuthentication(c *v1.AuthenticationConfiguration) error {
	if len(c.JWT) > 64 {
		return fmt.Errorf("it has %d elements in jwt, and at most 64 are allowed", len(c.JWT))
	}
	var issuers, discoveries []string
	for i, a := range c.JWT {
		at := fmt.Sprintf("jwt[%d]", i)
		discovery := ""
		if a.Issuer.DiscoveryURL != nil {
			discovery = *a.Issuer.DiscoveryURL
		}
		switch {
		case slices.Contains(issuers, a.Issuer.URL):
			return fmt.Errorf("%s.issuer.url is that of another element, and each issuer has one", at)
		case discovery != "" && slices.Contains(discoveries, discovery):
			return fmt.Errorf("%s.issuer.discoveryURL is that of another element", at)
		}
		issuers, discoveries = append(issuers, a.Issuer.URL), append(discoveries, discovery)
		if err := checkJWT(at, a, discovery); err != nil {
			return err
		}
	}
	if c.Anonymous != nil && !c.Anonymous.Enabled && len(c.Anonymous.Conditions) > 0 {
		return errors.New("anonymous has conditions, and enabled is false")
	}
	return nil
}

func checkJWT(at string, a v1.JWTAuthenticator, discovery string) error {
	if err := checkIssuer(at+".issuer", a.Issuer, discovery); err != nil {
		return err
	}
	m := a.ClaimMappings
	if err := checkMapping(at+".claimMappings.username", m.Username, true); err != nil {
		return err
	}
	if err := checkMapping(at+".claimMappings.groups", m.Groups, false); err != nil {
		return err
	}
	if m.UID.Claim != "" && m.UID.Expression != "" {
		return fmt.Errorf("%s.claimMappings.uid has both claim and expression", at)
	}
	if err := checkExtra(at+".claimMappings.extra", m.Extra); err != nil {
		return err
	}
	return checkRules(at, a)
}

func checkIssuer(at string, issuer v1.Issuer, discovery string) error {
	if err := checkURL(at+".url", issuer.URL); err != nil {
		return err
	}
	if discovery != "" {
		if err := checkURL(at+".discoveryURL", discovery); err != nil {
			return err
		}
		if strings.TrimRight(discovery, "/") == strings.TrimRight(issuer.URL, "/") {
			return fmt.Errorf("%s.discoveryURL is its url, and has to differ", at)
		}
	}
	switch policy := issuer.AudienceMatchPolicy; {
	case len(issuer.Audiences) == 0:
		return fmt.Errorf("%s.audiences is empty, and one is required", at)
	case slices.Contains(issuer.Audiences, ""):
		return fmt.Errorf("%s.audiences has an empty element", at)
	case repeats(issuer.Audiences):
		return fmt.Errorf("%s.audiences has an element twice", at)
	case policy != v1.AudienceMatchPolicyMatchAny && (policy != "" || len(issuer.Audiences) > 1):
		return fmt.Errorf("%s.audienceMatchPolicy has to be MatchAny", at)
	}
	if issuer.CertificateAuthority != "" {
		if err := readCertificates([]byte(issuer.CertificateAuthority)); err != nil {
			return fmt.Errorf("%s.certificateAuthority: %w", at, err)
		}
	}
	return nil
}

func checkURL(at, text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return fmt.Errorf("%s is missing", at)
	case err != nil:
		return fmt.Errorf("%s is no URL", at)
	case u.Scheme != "https":
		return fmt.Errorf("%s does not begin with https://", at)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return fmt.Errorf("%s has a user, a query or a fragment", at)
	}
	return nil
}

func checkMapping(at string, m v1.PrefixedClaimOrExpression, required bool) error {
	switch {
	case m.Claim != "" && m.Expression != "":
		return fmt.Errorf("%s has both claim and expression", at)
	case m.Claim != "" && m.Prefix == nil:
		return fmt.Errorf("%s has a claim without prefix, which may be empty", at)
	case m.Claim == "" && m.Prefix != nil:
		return fmt.Errorf("%s has a prefix without claim", at)
	case required && m.Claim == "" && m.Expression == "":
		return fmt.Errorf("%s needs claim or expression", at)
	}
	return nil
}

func checkExtra(at string, extra []v1.ExtraMapping) error {
	var keys []string
	for i, e := range extra {
		at := fmt.Sprintf("%s[%d]", at, i)
		domain, _, _ := strings.Cut(e.Key, "/")
		reserved := slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) })
		switch errs := utilvalidation.IsDomainPrefixedPath(field.NewPath("key"), e.Key); {
		case len(errs) > 0 || e.Key != strings.ToLower(e.Key):
			return fmt.Errorf("%s.key is no path in lower case with a domain before it, as in example.com/tenant", at)
		case reserved:
			return fmt.Errorf("%s.key has a domain that is reserved for Kubernetes", at)
		case e.ValueExpression == "":
			return fmt.Errorf("%s.valueExpression is missing", at)
		}
		keys = append(keys, e.Key)
	}
	if repeats(keys) {
		return fmt.Errorf("%s has a key twice", at)
	}
	return nil
}

func checkRules(at string, a v1.JWTAuthenticator) error {
	var claims, expressions, users []string
	for i, r := range a.ClaimValidationRules {
		at := fmt.Sprintf("%s.claimValidationRules[%d]", at, i)
		switch {
		case (r.Claim == "") == (r.Expression == ""):
			return fmt.Errorf("%s needs either claim or expression", at)
		case r.Claim != "" && r.Message != "":
			return fmt.Errorf("%s has a message, which belongs to an expression", at)
		case r.Expression != "" && r.RequiredValue != "":
			return fmt.Errorf("%s has a requiredValue, which belongs to a claim", at)
		case r.Claim != "":
			claims = append(claims, r.Claim)
		default:
			expressions = append(expressions, r.Expression)
		}
	}
	for i, r := range a.UserValidationRules {
		if r.Expression == "" {
			return fmt.Errorf("%s.userValidationRules[%d].expression is missing", at, i)
		}
		users = append(users, r.Expression)
	}
	if repeats(claims) || repeats(expressions) || repeats(users) {
		return fmt.Errorf("%s has a rule twice", at)
	}
	return nil
}

func repeats(list []string) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) < len(list)
}
