import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"7. The face holds the inbox only when it is used","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0007-the-inbox-is-held-when-it-is-used.md","filePath":"docs/adr/0007-the-inbox-is-held-when-it-is-used.md"}');
const _sfc_main = { name: "docs/adr/0007-the-inbox-is-held-when-it-is-used.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_7-the-face-holds-the-inbox-only-when-it-is-used" tabindex="-1">7. The face holds the inbox only when it is used <a class="header-anchor" href="#_7-the-face-holds-the-inbox-only-when-it-is-used" aria-label="Permalink to &quot;7. The face holds the inbox only when it is used&quot;">​</a></h1><p><strong>Context.</strong> An agent&#39;s MCP face needs two things of the broker: calls and asks of its own, whose replies must never be taken by another process of the same agent, and the agent&#39;s inbox, which has one holder at a time, the newest. Taking the inbox at start would let every short-lived face (a client that lists its servers, a second session) take it from the one that is reading.</p><p><strong>Decision.</strong> Calls and asks run on the executor&#39;s connection, at a sub-inbox of its own. The inbox is taken by a second connection, under the agent&#39;s plain address, at the first <code>inbox_read</code>, <code>inbox_wait</code> or <code>reply</code>, and kept from then on. If another process takes it over, a wait that runs ends with an error that says so, and the next read takes it back. While the inbox isn&#39;t held, the number of unread messages comes from a <code>peek</code>; <a href="./0030-new-mail-is-told-once.html">ADR 30</a> says when.</p><p><strong>Consequences.</strong> Two faces of one agent share calls and asks without harm and hand the inbox to each other only by use. A message costs an attempt only once it was shown to a model. The answer to an ask goes to the process that asked; if that dies, the answer stays in its sub-inbox and goes with it, as for every request client.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0007-the-inbox-is-held-when-it-is-used.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0007TheInboxIsHeldWhenItIsUsed = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0007TheInboxIsHeldWhenItIsUsed as default
};
