import { ssrRenderAttrs, ssrRenderAttr } from "vue/server-renderer";
import { _ as _imports_0 } from "./attention-light.CkY6OYqW.js";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const _imports_1 = "/assets/attention-dark.DzfO8vfv.png";
const _imports_2 = "/assets/attention-narrow.C9Ps4sFc.png";
const _imports_3 = "/assets/agents-light.BjnJ4R_5.png";
const _imports_4 = "/assets/agents-dark.Bi8-TF_h.png";
const _imports_5 = "/assets/agents-narrow.D5NoBujK.png";
const _imports_6 = "/assets/approvals-light.CAIsG9Qt.png";
const _imports_7 = "/assets/approvals-dark.BYDQ9CxE.png";
const _imports_8 = "/assets/approvals-narrow.C2GSS1NB.png";
const _imports_9 = "/assets/calls-light.h-IIJakr.png";
const _imports_10 = "/assets/calls-dark.D6yfAUKj.png";
const _imports_11 = "/assets/calls-narrow.Cf0PeDpr.png";
const _imports_12 = "/assets/dead-letters-light.Dul0GKph.png";
const _imports_13 = "/assets/dead-letters-dark.D3IbpmHy.png";
const _imports_14 = "/assets/dead-letters-narrow.CUVpH5wi.png";
const _imports_15 = "/assets/servers-light.CIHRdJ9h.png";
const _imports_16 = "/assets/servers-dark.DRIv6XNY.png";
const _imports_17 = "/assets/servers-narrow.DBIG2QzJ.png";
const _imports_18 = "/assets/system-light.Cf6192Rt.png";
const _imports_19 = "/assets/system-dark.CGAedOm4.png";
const _imports_20 = "/assets/system-narrow.D0AaeXa3.png";
const _imports_21 = "/assets/timeline-light.IkUGNwAQ.png";
const _imports_22 = "/assets/timeline-dark.BY83tJ9q.png";
const _imports_23 = "/assets/timeline-narrow.DGbs5FBZ.png";
const __pageData = JSON.parse('{"title":"Pictures of the dashboard","description":"","frontmatter":{},"headers":[],"relativePath":"docs/images/dashboard/index.md","filePath":"docs/images/dashboard/README.md"}');
const _sfc_main = { name: "docs/images/dashboard/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="pictures-of-the-dashboard" tabindex="-1">Pictures of the dashboard <a class="header-anchor" href="#pictures-of-the-dashboard" aria-label="Permalink to &quot;Pictures of the dashboard&quot;">​</a></h1><p>Each view in a light and a dark theme, and on a narrow screen. <code>npm run screenshots</code> makes them anew from a real page. The purpose of each view: <a href="./../../guide/dashboard.html">dashboard.md</a>.</p><h2 id="what-needs-a-person" tabindex="-1">What needs a person <a class="header-anchor" href="#what-needs-a-person" aria-label="Permalink to &quot;What needs a person&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_0)} alt="What needs a person in a light theme"></p><p><img${ssrRenderAttr("src", _imports_1)} alt="What needs a person in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_2)} alt="What needs a person on a narrow screen"></p><h2 id="agents" tabindex="-1">Agents <a class="header-anchor" href="#agents" aria-label="Permalink to &quot;Agents&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_3)} alt="Agents in a light theme"></p><p><img${ssrRenderAttr("src", _imports_4)} alt="Agents in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_5)} alt="Agents on a narrow screen"></p><h2 id="approvals" tabindex="-1">Approvals <a class="header-anchor" href="#approvals" aria-label="Permalink to &quot;Approvals&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_6)} alt="Approvals in a light theme"></p><p><img${ssrRenderAttr("src", _imports_7)} alt="Approvals in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_8)} alt="Approvals on a narrow screen"></p><h2 id="calls" tabindex="-1">Calls <a class="header-anchor" href="#calls" aria-label="Permalink to &quot;Calls&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_9)} alt="Calls in a light theme"></p><p><img${ssrRenderAttr("src", _imports_10)} alt="Calls in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_11)} alt="Calls on a narrow screen"></p><h2 id="dead-letters" tabindex="-1">Dead letters <a class="header-anchor" href="#dead-letters" aria-label="Permalink to &quot;Dead letters&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_12)} alt="Dead letters in a light theme"></p><p><img${ssrRenderAttr("src", _imports_13)} alt="Dead letters in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_14)} alt="Dead letters on a narrow screen"></p><h2 id="servers" tabindex="-1">Servers <a class="header-anchor" href="#servers" aria-label="Permalink to &quot;Servers&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_15)} alt="Servers in a light theme"></p><p><img${ssrRenderAttr("src", _imports_16)} alt="Servers in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_17)} alt="Servers on a narrow screen"></p><h2 id="system" tabindex="-1">System <a class="header-anchor" href="#system" aria-label="Permalink to &quot;System&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_18)} alt="System in a light theme"></p><p><img${ssrRenderAttr("src", _imports_19)} alt="System in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_20)} alt="System on a narrow screen"></p><h2 id="timeline" tabindex="-1">Timeline <a class="header-anchor" href="#timeline" aria-label="Permalink to &quot;Timeline&quot;">​</a></h2><p><img${ssrRenderAttr("src", _imports_21)} alt="Timeline in a light theme"></p><p><img${ssrRenderAttr("src", _imports_22)} alt="Timeline in a dark theme"></p><p><img${ssrRenderAttr("src", _imports_23)} alt="Timeline on a narrow screen"></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/images/dashboard/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};
