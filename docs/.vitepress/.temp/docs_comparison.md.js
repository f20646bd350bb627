import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"How Signalbox compares","description":"","frontmatter":{},"headers":[],"relativePath":"docs/comparison.md","filePath":"docs/comparison.md"}');
const _sfc_main = { name: "docs/comparison.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="how-signalbox-compares" tabindex="-1">How Signalbox compares <a class="header-anchor" href="#how-signalbox-compares" aria-label="Permalink to &quot;How Signalbox compares&quot;">​</a></h1><p>Signalbox is for two or more agents that share tools or work for each other. If you have one agent and three servers, an <code>mcp.json</code> is enough.</p><table tabindex="0"><thead><tr><th>if you use</th><th>it is good at</th><th>you still have to solve</th></tr></thead><tbody><tr><td>an <code>mcp.json</code> for each agent</td><td>No process runs in between. A server that breaks affects one agent.</td><td>copies of servers, tools by role, mail, calls after a crash</td></tr><tr><td>an MCP gateway, such as MetaMCP or Docker MCP Gateway</td><td>sign-in for many users, web pages, containers for servers, all of MCP</td><td>mail between agents, and a journal that says whether a call ran when a process died</td></tr><tr><td>a mailbox for agents, such as MCP Agent Mail</td><td>threads, search, claims on files, a history that people read</td><td>sharing servers, roles, limits, and names that a caller can&#39;t choose itself</td></tr><tr><td>a message broker: Redis Streams, NATS, RabbitMQ</td><td>clusters, clients in every language, very large volumes</td><td>identity by token, inboxes, MCP, outcomes of calls</td></tr><tr><td>an agent framework in one process</td><td>shared memory, typed steps, no network</td><td>agents that are other programs, such as Claude Code, and work that goes on when the process dies</td></tr></tbody></table><p>Signalbox has no published packages yet. It serves tools, resources, prompts, completions and tasks of MCP. At any time one broker serves an inbox, so more brokers don&#39;t make a single busy inbox faster.</p><p>Next: <a href="./benchmarks.html">figures beside other brokers</a>, and <a href="./guide/reliability.html">what Signalbox promises</a>.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/comparison.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const comparison = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  comparison as default
};
