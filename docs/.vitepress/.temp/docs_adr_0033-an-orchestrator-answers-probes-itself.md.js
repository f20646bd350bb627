import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"33. An orchestrator answers probes itself","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0033-an-orchestrator-answers-probes-itself.md","filePath":"docs/adr/0033-an-orchestrator-answers-probes-itself.md"}');
const _sfc_main = { name: "docs/adr/0033-an-orchestrator-answers-probes-itself.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_33-an-orchestrator-answers-probes-itself" tabindex="-1">33. An orchestrator answers probes itself <a class="header-anchor" href="#_33-an-orchestrator-answers-probes-itself" aria-label="Permalink to &quot;33. An orchestrator answers probes itself&quot;">​</a></h1><p><strong>Context.</strong> The broker shows what connected orchestrators report. While the broker is unreachable nobody sees whether an orchestrator lives, and a supervisor of containers can&#39;t probe it. An orchestrator knows no tokens, so it can&#39;t decide who may see figures. The plan also says that no label of a metric holds the id of an agent.</p><p><strong>Decision.</strong></p><ul><li><code>orchestrator.listen</code> opens a listener with the router of the broker: <code>/livez</code>, <code>/readyz</code> and <code>/metrics</code>. There is none by default.</li><li>It asks the broker whether the token of a scraper may see figures: <code>GET /metrics/access</code> with the same header, over the address and the authorities of its own connection. The broker answers by its rule for <code>/metrics</code> and writes a refusal into its audit log. <code>broker.metrics: open</code> does not open this answer, because it is for one machine only.</li><li>At most eight questions are open at a time. No answer is kept, so that a revoked token ends at once. While the broker is away, figures are refused with 503 <code>access_unknown</code>. <code>/livez</code> and <code>/readyz</code> need no token and still answer.</li><li>An address beyond loopback needs <code>--insecure</code>, as the broker&#39;s does without TLS.</li><li>The label <code>orchestrator</code> stays, at the broker and here. It is an id that the operator chose in the configuration, at most sixteen are shown, and no caller can add one. Without it the counters of two orchestrators behind one broker would be added up. No other label holds the id of an agent.</li></ul><p><strong>Rejected.</strong> <em>A listener without tokens on loopback</em>: every user of the machine could read the names of servers and tools. <em>A Unix socket</em>: Prometheus can&#39;t scrape one. <em>Checking tokens in the orchestrator</em>: the token store has one owner. <em>A new operation over the orchestrator&#39;s connection</em>: tokens would pass through frames, and the broker has an HTTP listener already.</p><p><strong>Consequences.</strong> The figures of an orchestrator are served in two places with the same labels: a scraper takes one of them. Encryption for other machines is the work of a proxy in front of it.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0033-an-orchestrator-answers-probes-itself.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0033AnOrchestratorAnswersProbesItself = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0033AnOrchestratorAnswersProbesItself as default
};
