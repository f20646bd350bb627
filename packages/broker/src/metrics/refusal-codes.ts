import { errorCodes } from '@signalbox/protocol';

/** The codes with which frames, connections and HTTP requests are refused. */
export const refusalCodes: readonly string[] = [
  ...Object.keys(errorCodes),
  'forbidden_origin',
  'forbidden_host',
  'bad_subprotocol',
  'not_found',
];
