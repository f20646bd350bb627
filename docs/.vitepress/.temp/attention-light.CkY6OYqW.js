const _imports_0 = "/assets/attention-light.BqDqRu3q.png";
export {
  _imports_0 as _
};
