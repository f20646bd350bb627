/** A message in the JSON of A2A 1.0, as far as its parts go. */
interface MessageJson {
  parts?: { text?: string }[];
}

/**
 * Returns the body with which an agent is asked: the text of a message that has only text, its parts with an empty line between two, else
 * its parts as they came. Nothing that a part names is fetched.
 */
export function askBody(message: string): unknown {
  const { parts = [] } = JSON.parse(message) as MessageJson;
  const texts = parts.map(({ text }) => text);
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : { parts };
}
