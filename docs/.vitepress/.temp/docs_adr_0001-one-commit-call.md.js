import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"1. The store has one writing call, commit(batch)","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0001-one-commit-call.md","filePath":"docs/adr/0001-one-commit-call.md"}');
const _sfc_main = { name: "docs/adr/0001-one-commit-call.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_1-the-store-has-one-writing-call-commit-batch" tabindex="-1">1. The store has one writing call, <code>commit(batch)</code> <a class="header-anchor" href="#_1-the-store-has-one-writing-call-commit-batch" aria-label="Permalink to &quot;1. The store has one writing call, \`commit(batch)\`&quot;">​</a></h1><p><strong>Context.</strong> The first sketch of <code>InboxStore</code> had <code>append</code>, <code>settle</code> and <code>bump</code>. A reply and the ack of its request have to be one durable step, and acks should be part of the next write: with three calls the store would have to guess which calls belong together, or pay one fsync for each.</p><p><strong>Decision.</strong> One call takes messages (each with an optional <code>settles</code>), settlements and attempt counts, applies them as one durable step where the medium can, and answers for each message. The broker&#39;s commit queue decides what belongs together: everything of one turn of the event loop, or everything that came while the last commit ran.</p><p><strong>Consequences.</strong> SQLite does one transaction and one fsync a turn. A store without multi-key transactions publishes the messages with their ids first and applies the settlements after; a repeat is recognised by its id. The conformance suite needs no second set of tests for combinations.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0001-one-commit-call.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0001OneCommitCall = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0001OneCommitCall as default
};
