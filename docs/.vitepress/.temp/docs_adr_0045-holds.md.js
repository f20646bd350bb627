import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"45. Holds","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0045-holds.md","filePath":"docs/adr/0045-holds.md"}');
const _sfc_main = { name: "docs/adr/0045-holds.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_45-holds" tabindex="-1">45. Holds <a class="header-anchor" href="#_45-holds" aria-label="Permalink to &quot;45. Holds&quot;">​</a></h1><p><strong>Context.</strong> An operator stops an agent, a role, tools or everything. That must outlive every process, lose nothing, and cost nothing while nothing is held.</p><p><strong>Decision.</strong></p><ul><li><strong>Holds stand beside the tokens</strong> (<code>hold</code> in <code>tokens.db</code>): both are few, small, and say who may do what; each change is fsynced there already, and the file&#39;s log is emptied after each. A damaged row counts as a hold on everything: a forgotten hold does more harm than one too many.</li><li><strong>Each hold is a record of its own with an id.</strong> Two operators may hold the same agent for different reasons, and one of them must not end the other&#39;s hold unawares.</li><li><strong>A lease knows whether its agent is held</strong> (<code>isOnHold</code>), and then has no room. So the path of a message is unchanged except for one field, and everything that waits for room (the backlog, retries, a group&#39;s queue) waits for the release by the same rules. A sub-inbox goes on, since answers come there, without which a held call could not tell its end; all other kinds are passed over there and pushed again in order.</li><li><strong>The orchestrator follows the holds by a frame of its own</strong>, <code>follow_holds</code>, on which the broker sends all holds now and after each change. A list of at most 256 holds is short enough to be sent whole, and a whole list can&#39;t be missed in part. Ephemeral messages would have been lossy. It serves no request before the first list.</li><li><strong><code>hold</code> answers when the orchestrators have confirmed it</strong> (<code>holds_known</code>), or after two seconds: a stop switch must not hang together with the processes that it should stop. So no call starts late after an operator has the answer.</li><li><strong>A call is checked for holds twice</strong>, before it queues and right before it starts; in between it may have become held. It then leaves its place, waits apart, and begins anew with the allowlist. The broker is told about its start only after the second check, so that a held call never costs an attempt.</li><li><strong>The exception from holds is for agents, not for tokens.</strong> A stored request does not say with which token it was sent, so the broker tells the orchestrator the agents that have a token of an operator or approver.</li></ul><p><strong>Different from the plan.</strong> While it is not connected, an orchestrator applies the holds that it knows: stopping then would turn each restart of a broker into a stop of all queued calls. A hold on tools does not hold operators and approvers either.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0045-holds.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0045Holds = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0045Holds as default
};
