import { bodyLimitsFor, parseJson, type WelcomeFrame } from '@signalbox/protocol';

/** Parses the body of a message. Throws `bad_body` if it is not JSON, or exceeds the bounds of the broker that delivered it. */
export type ParseBody = (text: string) => unknown;

/** Returns the reader of bodies for a connection; `welcome` returns its newest welcome. */
export function bodyReader(welcome: () => WelcomeFrame | undefined): ParseBody {
  return (text) => parseJson(text, bodyLimitsFor(welcome()?.limits.message?.bytes));
}
