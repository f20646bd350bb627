import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"6. Tool schemas are untrusted input","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0006-schemas-are-untrusted.md","filePath":"docs/adr/0006-schemas-are-untrusted.md"}');
const _sfc_main = { name: "docs/adr/0006-schemas-are-untrusted.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_6-tool-schemas-are-untrusted-input" tabindex="-1">6. Tool schemas are untrusted input <a class="header-anchor" href="#_6-tool-schemas-are-untrusted-input" aria-label="Permalink to &quot;6. Tool schemas are untrusted input&quot;">​</a></h1><p>A tool&#39;s <code>inputSchema</code> comes from a server that may be buggy or hostile, and runs in the process that serves everybody.</p><ul><li>ajv compiles it once, within bounds on size, depth and the number of references; beyond them nothing is checked, and the server decides.</li><li>References are followed inside the document only. Nothing is fetched.</li><li><code>pattern</code> runs on RE2 (<code>re2js</code>, linear time), not on JavaScript&#39;s engine: <code>(a+)+$</code> would otherwise stop every worker&#39;s calls. A pattern that RE2 cannot express (look-around, back-references) is not checked.</li><li>Conversion of arguments is lossless and happens only where validation failed: the original can always be read back from what is sent.</li></ul><p>A check that is not made is never an error for the caller: the schema belongs to the server, which checks again.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0006-schemas-are-untrusted.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0006SchemasAreUntrusted = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0006SchemasAreUntrusted as default
};
