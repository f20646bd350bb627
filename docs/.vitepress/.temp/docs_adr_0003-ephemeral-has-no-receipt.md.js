import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"3. An ephemeral message has no receipt","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0003-ephemeral-has-no-receipt.md","filePath":"docs/adr/0003-ephemeral-has-no-receipt.md"}');
const _sfc_main = { name: "docs/adr/0003-ephemeral-has-no-receipt.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_3-an-ephemeral-message-has-no-receipt" tabindex="-1">3. An ephemeral message has no receipt <a class="header-anchor" href="#_3-an-ephemeral-message-has-no-receipt" aria-label="Permalink to &quot;3. An ephemeral message has no receipt&quot;">​</a></h1><p><strong>Context.</strong> <code>delivered</code> means that a message is on disk. An ephemeral message (progress, a manifest request, a hint) never is.</p><p><strong>Decision.</strong> The broker answers an ephemeral <code>deliver</code> only when it failed (<code>no_consumer</code>, <code>forbidden</code>, …).</p><p><strong>Consequences.</strong> The word <em>delivered</em> keeps one meaning, and the live lane costs one frame instead of two. A sender that wants to know whether its ephemeral request arrived waits for the reply, as it does anyway.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0003-ephemeral-has-no-receipt.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0003EphemeralHasNoReceipt = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0003EphemeralHasNoReceipt as default
};
