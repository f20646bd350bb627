export const call = (toolCallId: string, more: object = {}) => ({
  update: { sessionUpdate: 'tool_call', toolCallId, title: 'make', status: 'pending', ...more },
});
export const shown = ({ arguments: text = '' }: { arguments?: string | undefined }) => JSON.parse(text);
