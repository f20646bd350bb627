import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"42. A hook at the face wakes an idle agent","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0042-a-hook-at-the-face-wakes.md","filePath":"docs/adr/0042-a-hook-at-the-face-wakes.md"}');
const _sfc_main = { name: "docs/adr/0042-a-hook-at-the-face-wakes.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_42-a-hook-at-the-face-wakes-an-idle-agent" tabindex="-1">42. A hook at the face wakes an idle agent <a class="header-anchor" href="#_42-a-hook-at-the-face-wakes-an-idle-agent" aria-label="Permalink to &quot;42. A hook at the face wakes an idle agent&quot;">​</a></h1><p><strong>Context.</strong> An interactive agent that waits for its user reads no mail. Claude Code begins a turn by itself if a hook with <code>asyncRewake</code> exits with 2. In the plan these hooks ran <code>signalbox inbox --wait</code>, from the start of a session and from the end of each turn on.</p><p><strong>Decision.</strong> The hook asks the shared face of <code>worker run</code>, as the hooks of ADR 30 do: one line on its socket, with <code>&quot;wait&quot;:true</code>. The face answers when there is mail that no result, hook or wake has mentioned.</p><ul><li><strong>Each message wakes once</strong>, because the face remembers for each process of an agent what was mentioned. Mail that the agent was told of in its turn, and left unread, does not wake it at the end of that turn.</li><li><strong>Each session has one wait.</strong> Each end of a turn starts a hook, and Claude Code ends none of them: a later one ends the earlier one, which exits with 0.</li><li><strong>Only mail exits with 2.</strong> Any error exits with 0. An error that exits with 2 would begin a turn, whose end starts the next hook: a loop that pays for a model.</li><li><strong>The hook ends with its agent.</strong> Claude Code starts it in a session of its own, so that no signal to the group of the agent reaches it. The end of the face closes its connection. While the face runs and the agent is gone, it gives up after a minute.</li></ul><p><strong>Rejected.</strong> <em><code>inbox --wait --mark FILE</code> as the hook</em>: it connects to the broker with the token of the process and looks every 1 to 2 s for each hook that is left over; several of them wake for one message; it exits with 2 also when it cannot be done, as after the token was revoked; and its mark does not know which messages results have mentioned. It stays for hooks and scripts that people write.</p><p><strong>Consequences.</strong> Without a shared face <code>--wake</code> is refused. A role with <code>unreadHint: meta</code> or <code>off</code> is not woken. The process of a hook takes about 50 MB while the agent is idle. A message that comes just after the hook has ended is mentioned by the next one, at once.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0042-a-hook-at-the-face-wakes.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0042AHookAtTheFaceWakes = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0042AHookAtTheFaceWakes as default
};
