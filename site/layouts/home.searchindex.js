{{- $all := slice -}}
{{- range sort site.Pages "RelPermalink" -}}
  {{- if and .File (ne .Kind "home") -}}
    {{- $all = $all | append (partial "sections.html" .) -}}
  {{- end -}}
{{- end -}}
window.kubewrightIndex = {{ $all | jsonify (dict "noHTMLEscape" false) }};
