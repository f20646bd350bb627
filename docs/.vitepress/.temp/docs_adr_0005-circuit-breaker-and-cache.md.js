import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"5. A circuit breaker of our own, and a cache for read-only tools only","description":"","frontmatter":{},"headers":[],"relativePath":"docs/adr/0005-circuit-breaker-and-cache.md","filePath":"docs/adr/0005-circuit-breaker-and-cache.md"}');
const _sfc_main = { name: "docs/adr/0005-circuit-breaker-and-cache.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="_5-a-circuit-breaker-of-our-own-and-a-cache-for-read-only-tools-only" tabindex="-1">5. A circuit breaker of our own, and a cache for read-only tools only <a class="header-anchor" href="#_5-a-circuit-breaker-of-our-own-and-a-cache-for-read-only-tools-only" aria-label="Permalink to &quot;5. A circuit breaker of our own, and a cache for read-only tools only&quot;">​</a></h1><p><strong>Breaker.</strong> The plan asked for a well-kept library if one fits. opossum and cockatiel were looked at: both wrap a function and keep time with <code>Date</code> and their own timers, so the clock cannot be injected; both let a caller decide only between success and failure, while we need a third verdict (a call that was cancelled says nothing about its server), a probe over a session that is made for it, and a rule that results of calls from before the circuit opened do not count. The state machine is 100 lines without I/O, tested by properties on an injected clock. The cache uses a library (<code>lru-cache</code>) that takes its clock as an option.</p><p><strong>Cache.</strong> The plan caches every result with a TTL hint. We cache only those of tools with <code>readOnlyHint</code>: a write that is answered from a cache is not made, which would break &quot;a call runs once&quot; in the other direction. A server that marks the result of a write as cacheable loses a little speed, but no write is lost.</p><p><strong>What opens the circuit</strong>: failures to connect, lost connections, and no answer within the server&#39;s own limit (or 30 s). A caller in a hurry whose deadline passes earlier does not count, or one agent with short deadlines could shut a server for all others.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/adr/0005-circuit-breaker-and-cache.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const _0005CircuitBreakerAndCache = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  _0005CircuitBreakerAndCache as default
};
