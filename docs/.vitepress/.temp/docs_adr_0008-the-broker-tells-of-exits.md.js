import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse(`{"title":"8. The broker reports a worker's exit","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0008-the-broker-tells-of-exits.md","filePath":"docs/adr/0008-the-broker-tells-of-exits.md"}`);
const _sfc_main = { name: "docs/adr/0008-the-broker-tells-of-exits.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_8-the-broker-reports-a-worker-s-exit" tabindex="-1">8. The broker reports a worker&#39;s exit <a class="header-anchor" href="#_8-the-broker-reports-a-worker-s-exit" aria-label="Permalink to &quot;8. The broker reports a worker&#39;s exit&quot;">​</a></h1><p><strong>Context.</strong> When an agent process ends, its parent is to get an <code>event</code> <code>worker_exited</code> with the code and the messages that the process held. The supervisor that sees the exit is often not allowed to send anything: a minting token cannot deliver, and a worker&#39;s role may send <code>ask</code>, <code>task</code> and <code>note</code> only. Nor does it know what was held: the lease is the broker&#39;s.</p><p><strong>Decision.</strong> The supervisor reports the exit in the operation that ends the process&#39;s identity: <code>token_revoke</code> takes <code>exited: { tell, code, signal }</code>. The broker revokes the token, works out what was handed to the agent and not settled, and stores the event in the inbox of <code>tell</code>, from <code>broker</code>.</p><p><strong>Consequences.</strong> No role gains a right to send. Only a client that may revoke the token can report the exit. The event is as durable as any message, and comes after the identity is gone: a parent that acts on it can&#39;t race with the dead worker&#39;s last acks. A supervisor that is killed reports nothing; its agents end with it, and their tokens expire.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0008-the-broker-tells-of-exits.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0008TheBrokerTellsOfExits = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0008TheBrokerTellsOfExits as default
};
