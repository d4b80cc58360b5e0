package hclconfig

import (
	"errors"

	"github.com/hashicorp/go-cty-funcs/cidr"
	"github.com/hashicorp/go-cty-funcs/collection"
	"github.com/hashicorp/go-cty-funcs/crypto"
	"github.com/hashicorp/go-cty-funcs/encoding"
	"github.com/hashicorp/go-cty-funcs/uuid"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions returns Terraform's functions whose result depends only on their arguments and the
// files of the folder.
func (l *loader) functions(m *meter) map[string]function.Function {
	f := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc,
		"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc,
		"signum": stdlib.SignumFunc, "range": stdlib.RangeFunc, "sum": sumFunc,

		"chomp": stdlib.ChompFunc, "format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc,
		"indent": stdlib.IndentFunc, "join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": replaceFunc,
		"split": stdlib.SplitFunc, "strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc,
		"trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc, "trimsuffix": stdlib.TrimSuffixFunc, "trimspace": stdlib.TrimSpaceFunc,
		"startswith": startsWithFunc, "endswith": endsWithFunc, "strcontains": strContainsFunc,

		"alltrue": allTrueFunc, "anytrue": anyTrueFunc, "chunklist": stdlib.ChunklistFunc,
		"coalesce": collection.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc,
		"element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "index": indexFunc, "keys": stdlib.KeysFunc,
		"length": lengthFunc, "lookup": stdlib.LookupFunc, "matchkeys": matchKeysFunc, "merge": stdlib.MergeFunc,
		"one": oneFunc, "reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc,
		"setproduct": stdlib.SetProductFunc, "setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "transpose": transposeFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

		"base64decode": encoding.Base64DecodeFunc, "base64encode": encoding.Base64EncodeFunc, "urlencode": encoding.URLEncodeFunc,
		"csvdecode": stdlib.CSVDecodeFunc, "jsondecode": jsonDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"yamldecode": yamlDecodeFunc, "yamlencode": ctyyaml.YAMLEncodeFunc,

		"cidrhost": cidr.HostFunc, "cidrnetmask": cidr.NetmaskFunc, "cidrsubnet": cidr.SubnetFunc, "cidrsubnets": cidr.SubnetsFunc,
		"md5": crypto.Md5Func, "sha1": crypto.Sha1Func, "sha256": crypto.Sha256Func, "sha512": crypto.Sha512Func, "uuidv5": uuid.V5Func,
		"basename": basenameFunc, "dirname": dirnameFunc,
		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc, "timecmp": timeCmpFunc,

		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,
		"sensitive": sensitiveFunc, "nonsensitive": nonsensitiveFunc, "issensitive": isSensitiveFunc,
		"tobool": stdlib.MakeToFunc(cty.Bool), "tonumber": stdlib.MakeToFunc(cty.Number), "tostring": stdlib.MakeToFunc(cty.String),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	}
	for _, name := range []string{"abs", "ceil", "floor", "log", "max", "min", "parseint", "pow", "sum", "jsondecode", "yamldecode", "tonumber"} {
		f[name] = ofRange(f[name])
	}
	m.limit(f)
	l.addFileFunctions(f, m)
	for name, why := range unavailable {
		f[name] = refusal(name, why)
	}
	return f
}

// unavailable are Terraform's functions that would make two plans of the same configuration
// differ, or that read something outside of it.
var unavailable = map[string]string{
	"timestamp":     "the result would differ from one plan to the next",
	"plantimestamp": "the result would differ from one plan to the next",
	"uuid":          "the result would differ from one plan to the next; use uuidv5",
	"bcrypt":        "the result would differ from one plan to the next",
	"abspath":       "the result would differ from one machine to the next; paths are relative to the configuration",
	"pathexpand":    "the result would differ from one machine to the next; attributes that take a path of yours expand ~ themselves",
	"rsadecrypt":    "keys do not belong into a configuration; give the secret in a sensitive variable",
}

// refusal returns a function that only says why it is unavailable.
func refusal(name, why string) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true},
		Type: func([]cty.Value) (cty.Type, error) {
			return cty.NilType, errors.New(name + " is not available: " + why)
		},
	})
}
