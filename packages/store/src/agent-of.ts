/** Returns the agent to which an inbox or sub-inbox belongs: the part before the first `#`. */
export function agentOf(inbox: string): string {
  const at = inbox.indexOf('#');
  return at < 0 ? inbox : inbox.slice(0, at);
}
