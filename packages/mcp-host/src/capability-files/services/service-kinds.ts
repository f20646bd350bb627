import { graphql } from './graphql.ts';
import { jsonRpc } from './json-rpc.ts';
import { rest } from './rest.ts';

/** The kinds of services, by the names that they have in capability files. */
export const serviceKinds = { rest, graphql, jsonrpc: jsonRpc };
