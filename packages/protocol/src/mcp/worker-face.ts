/**
 * The experimental MCP capability by which the face of a worker identifies itself. A host that served it would list its own tools again,
 * and again the tools of that.
 */
export const workerFaceCapability = 'signalbox/worker-face';
