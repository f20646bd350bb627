/** Returns the messages that came before one that was sent earlier. */
export function disorderedOf(came: readonly string[], sent: readonly string[]): string[] {
  const places = new Map(sent.map((id, at) => [id, at]));
  const order = came.flatMap((id) => places.get(id) ?? []);
  return order.flatMap((place, at) => (at > 0 && place < order[at - 1]! ? [sent[place]!] : []));
}
