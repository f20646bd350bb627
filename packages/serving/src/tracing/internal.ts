// For our own packages and programs only: anything here may change in any version.

export {
  beginProcess,
  beginReceive,
  beginSend,
  type ReceivedMessage,
  type TracedMessage,
} from './message-spans.ts';
export { beginToolCall, type TracedToolCall, toolError } from './tool-spans.ts';
export { validTraceparent } from './trace-parent.ts';
