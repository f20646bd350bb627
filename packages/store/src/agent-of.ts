/** Returns the agent whose inbox or sub-inbox this is: what stands before the first `#`. */
export function agentOf(inbox: string): string {
  const at = inbox.indexOf('#');
  return at < 0 ? inbox : inbox.slice(0, at);
}
