import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"2. A frame has a type, a message has a kind","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0002-type-and-kind.md","filePath":"docs/adr/0002-type-and-kind.md"}');
const _sfc_main = { name: "docs/adr/0002-type-and-kind.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_2-a-frame-has-a-type-a-message-has-a-kind" tabindex="-1">2. A frame has a <code>type</code>, a message has a <code>kind</code> <a class="header-anchor" href="#_2-a-frame-has-a-type-a-message-has-a-kind" aria-label="Permalink to &quot;2. A frame has a \`type\`, a message has a \`kind\`&quot;">​</a></h1><p><strong>Context.</strong> The plan calls both the frame&#39;s discriminator and the message&#39;s sort &quot;kind&quot;, and a <code>deliver</code> frame carries both.</p><p><strong>Decision.</strong> On the wire <code>type</code> identifies a frame (<code>hello</code>, <code>deliver</code>, …); <code>kind</code> belongs only to a message (<code>task</code>, <code>ask</code>, …). The same two words are used in code and documents.</p><p><strong>Consequences.</strong> A header needs no nesting, and no reader has to ask which kind is meant.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0002-type-and-kind.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0002TypeAndKind = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0002TypeAndKind as default
};
