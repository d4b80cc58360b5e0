package hclconfig

import "github.com/kubewright/kubewright/config"

// authenticationBlock describes how API servers authenticate users. It stands for the file of an
// AuthenticationConfiguration and the argument that names it.
var authenticationBlock = &Block{
	Name: "authentication", Doc: "How the API servers authenticate users besides client certificates and tokens of service accounts, in `" + config.AuthenticationPath + "`. It stands for the `file` block and the `arg` that would do the same, and excludes these, the arguments `oidc-…` and `anonymous-auth`.",
	Attributes: []Attribute{
		{Name: "configuration", Type: typeString, NonEmpty: true, Cost: CostRestart, Doc: "An AuthenticationConfiguration of your own, as in `file(\"authentication.yaml\")`. Excludes the blocks `jwt` and `anonymous`."},
	},
	Blocks: []*Block{anonymousBlock, jwtBlock},
}

var anonymousBlock = &Block{
	Name: "anonymous", Doc: "Requests without credentials.",
	Attributes: []Attribute{
		{Name: "paths", Type: typeStrings, Default: config.ProbePaths, Cost: CostRestart, Doc: "The paths that are answered without credentials. Probes need `/livez` and `/readyz`. Nodes that others join with kubeadm's token need `/api/v1/namespaces/kube-public/configmaps/cluster-info`."},
	},
}

var jwtBlock = &Block{
	Name: "jwt", Repeat: true, Doc: "An issuer of JSON Web Tokens whose users the API servers accept, such as an OpenID Connect provider.",
	Blocks: []*Block{
		{
			Name: "issuer", Doc: "Who issues the tokens.",
			Attributes: []Attribute{
				{Name: "url", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "The claim `iss` of its tokens, and where its keys are discovered. It begins with `https://`."},
				{Name: "audiences", Type: typeStrings, Required: true, Cost: CostRestart, Doc: "Accepted claims `aud`, such as the client's ID: a token has one of them."},
				{Name: "discovery_url", Type: typeString, Cost: CostRestart, Doc: "Where the keys are discovered, if not below `url`."},
				{Name: "certificate_authority", Type: typeString, Cost: CostRestart, Doc: "The CA of its server as PEM: `file(\"issuer-ca.crt\")`. Without it the CAs of the host are trusted."},
				{Name: "audience_match_policy", Type: typeString, Cost: CostRestart, Doc: "`MatchAny`: any of the audiences is enough. It is set by itself when there are several."},
			},
		},
		{
			Name: "claim_mappings", Doc: "How the claims of a token become a user.",
			Blocks: []*Block{
				{Name: "username", Doc: "The name of the user. Required.", Attributes: prefixedClaimAttributes},
				{Name: "groups", Doc: "The groups of the user.", Attributes: prefixedClaimAttributes},
				{Name: "uid", Doc: "The UID of the user.", Attributes: claimAttributes},
				{Name: "extra", Label: "KEY", Doc: "A further attribute of the user, as in `extra \"example.com/tenant\"`.", Attributes: []Attribute{
					{Name: "value_expression", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "An expression in CEL, as in `claims.tenant`."},
				}},
			},
		},
		{
			Name: "claim_validation_rule", Repeat: true, Doc: "What a token has to have.",
			Attributes: []Attribute{
				claimAttributes[0],
				{Name: "required_value", Type: typeString, Cost: CostRestart, Doc: "The value of `claim`."},
				{Name: "expression", Type: typeString, Cost: CostRestart, Doc: "An expression in CEL that is true for accepted tokens, as in `claims.exp - claims.nbf <= 86400`. Excludes `claim`."},
				{Name: "message", Type: typeString, Cost: CostRestart, Doc: "What is logged when `expression` is false."},
			},
		},
		{
			Name: "user_validation_rule", Repeat: true, Doc: "What the user that results has to have.",
			Attributes: []Attribute{
				{Name: "expression", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "An expression in CEL that is true for accepted users, as in `!user.username.startsWith('system:')`."},
				{Name: "message", Type: typeString, Cost: CostRestart, Doc: "What is logged when it is false."},
			},
		},
	},
}

var claimAttributes = []Attribute{
	{Name: "claim", Type: typeString, Cost: CostRestart, Doc: "The name of a claim."},
	{Name: "expression", Type: typeString, Cost: CostRestart, Doc: "An expression in CEL. Excludes `claim`."},
}

var prefixedClaimAttributes = append([]Attribute{
	{Name: "prefix", Type: typeString, Cost: CostRestart, Doc: "What is put before the claim, as in `oidc:`, so that users of the issuer cannot take names of others. Required with `claim`; `\"\"` is none."},
}, claimAttributes...)
