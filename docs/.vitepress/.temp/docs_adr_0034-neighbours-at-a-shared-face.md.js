import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"34. Neighbours at a shared face","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0034-neighbours-at-a-shared-face.md","filePath":"docs/adr/0034-neighbours-at-a-shared-face.md"}');
const _sfc_main = { name: "docs/adr/0034-neighbours-at-a-shared-face.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_34-neighbours-at-a-shared-face" tabindex="-1">34. Neighbours at a shared face <a class="header-anchor" href="#_34-neighbours-at-a-shared-face" aria-label="Permalink to &quot;34. Neighbours at a shared face&quot;">​</a></h1><p><strong>Context.</strong> A shared face was attacked by the holder of a good token. Requests without a number were not counted, so that 3,000 of them ran at a face that allows 128. Half lines were not counted: four connections that wrote theirs byte by byte took 310 MiB. Each connection might leave 32 MiB unread, so that the 16 connections of one agent took 500 MiB. Each connection had its own turns, so that 16 of them that asked for lists of tools made an honest call take 31 ms instead of 4 ms.</p><p><strong>Decision.</strong> The connections of one agent share the limits that the face has for one agent, over all of its tokens:</p><ul><li><em>Turns</em> of eight lines (ADR 21, whose class is shared now). 16 KiB that are read or written count as one line more, and work beyond a turn is paid in the following ones.</li><li><em>Room.</em> A half line beyond 16 KiB counts in <code>worker.limits.bytesPerAgent</code> and <code>bytes</code>. If there is no room for it, its request is refused and the rest of its line is skipped. Its pieces are copied into one buffer that doubles.</li><li><em>Unread answers.</em> <code>worker.limits.unreadBytes</code> bounds them for all connections of an agent. The connection with the most unread bytes is ended.</li><li><em>Their number</em>, <code>worker.limits.sessionsPerAgent</code>: a token that is renewed is another token of the same agent. Before the broker has named the agent, the connections of its token are counted.</li><li>One token opens at most eight of the 64 connections to the broker that may be opened at a time. A hook that waits for its answer counts as a stranger.</li></ul><p>The connections of one <em>token</em> share which mail was mentioned, because one process of an agent has one token under <code>worker run</code>. A process that starts anew has another token, and its model is told again.</p><p><strong>Rejected.</strong> <em>Turns measured in time</em>: the work of a request is done in promises behind the line, so that no clock can attribute it to an agent. <em>Ending a connection that has no room for a half line</em>: its calls would begin anew and write the same lines again.</p><p><strong>Consequences.</strong> Several connections of one agent are not faster than one. Two windows of a CLI with the same token file share one memory of mentioned mail: the second one is not told of a message that the first one was told of.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0034-neighbours-at-a-shared-face.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0034NeighboursAtASharedFace = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0034NeighboursAtASharedFace as default
};
