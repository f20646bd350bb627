/** Reads a body as text, up to a number of bytes. If it is longer, `isWhole` is false, and `text` is only its beginning. */
export async function boundedText(
  body: AsyncIterable<Uint8Array> | null | undefined,
  maxBytes: number,
): Promise<{ text: string; isWhole: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    text += decoder.decode(piece, { stream: true });
    if (bytes > maxBytes) return { text, isWhole: false };
  }
  return { text: text + decoder.decode(), isWhole: true };
}
