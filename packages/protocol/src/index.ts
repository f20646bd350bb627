// Frames, their bodies, and the codes and limits of the protocol.

import './node-version.ts';

export type { CancelSignal } from './cancellation.ts';
export { type BackupManifest, backupFiles, backupManifestSchema } from './wire/admin/backups.ts';
export { type Hold, holdSubjects, maxHolds } from './wire/admin/holds.ts';
export {
  type AdminOp,
  type AdminParams,
  type AdminResult,
  adminOperations,
  isAdminOp,
} from './wire/admin/operations.ts';
export { type ParsedAdminParams, parseAdminParams, parseAdminResult } from './wire/admin/parse-admin.ts';
export { parseTailNotice, type TailNotice } from './wire/admin/tail.ts';
export {
  type AuditEntry,
  type AuditEntryKind,
  type AuditEventCode,
  type AuditReport,
  auditCodes,
  auditEntryKinds,
  auditEntrySchema,
} from './wire/audit-codes.ts';
export { bodyLimits, bodyLimitsFor } from './wire/body-limits.ts';
export {
  type BrokerFrame,
  brokerFrameSchemas,
  type CancelNotice,
  type ConnectedAgent,
  type DeliveredFrame,
  type ErrorFrame,
  type FoundState,
  foundStates,
  type HoldsFrame,
  type LaneGrantFrame,
  type LaneOpenedFrame,
  type LanesFrame,
  type MessageFrame,
  type RecipientState,
  type RefusedMember,
  type ScheduledMessageInfo,
  type SubscribedFrame,
  type WelcomeFrame,
} from './wire/broker-frames.ts';
export {
  type AckFrame,
  type AdminFrame,
  type AnnounceFrame,
  type AuditFrame,
  type CancelFrame,
  type CheckTokensFrame,
  type ClientFrame,
  clientFrameSchemas,
  type DeliverFrame,
  type FindFrame,
  type FollowHoldsFrame,
  type FollowRightsFrame,
  type HelloFrame,
  type HoldsKnownFrame,
  type LaneCallsFrame,
  type ListConnectedFrame,
  type ListScheduledFrame,
  type MetricsFrame,
  type NackFrame,
  type OpenLaneFrame,
  type PeekFrame,
  type ServeLanesFrame,
  type SubscribeFrame,
  type WorkingFrame,
} from './wire/client-frames.ts';
export { type CloseCode, closeCodes } from './wire/close-codes.ts';
export { closeCodeOf, type ErrorCode, errorCodes } from './wire/error-codes.ts';
export {
  type ExactNumber,
  exactNumber,
  isExactNumber,
  longNumber,
  plainSpelling,
  readJson,
} from './wire/exact-json.ts';
export { frameCosts, furtherCosts } from './wire/frame-costs.ts';
export { frameDefaults, frameLimits, protocolVersion, subprotocol } from './wire/frame-limits.ts';
export { encodeFrame, FrameCursor, type FrameText, splitFrames } from './wire/frame-text.ts';
export type { JournalBinding, JournalClaim } from './wire/journal.ts';
export { isDeeperThan } from './wire/json-depth.ts';
export {
  type LaneCall,
  type LaneFrame,
  laneFrameSchemas,
  laneLimits,
  parseLaneFrame,
} from './wire/lane-frames.ts';
export {
  defaultLimits,
  type LimitEntry,
  type LimitGroup,
  type LimitOverrides,
  type Limits,
  limitsOf,
  limitTable,
  systemDefault,
} from './wire/limits.ts';
export {
  type Message,
  type MessageHeader,
  messageHeaderSchema,
  type PeekedMessage,
  type Sender,
  type SenderToken,
  threadOf,
} from './wire/message.ts';
export {
  type OrchestratorFigures,
  type OrchestratorMetric,
  type OrchestratorMetricKey,
  type OrchestratorSamples,
  orchestratorFigureLimits,
  orchestratorFiguresSchema,
  orchestratorMetrics,
} from './wire/orchestrator-figures.ts';
export {
  type FrameRefusal,
  type ParsedFrame,
  parseBrokerFrame,
  parseClientFrame,
} from './wire/parse-frame.ts';
export {
  isJsonObject,
  type JsonLimits,
  type JsonSize,
  jsonProblem,
  jsonSize,
  parseJson,
  repeatedName,
  repeatedNameText,
  stringEnd,
} from './wire/parse-json.ts';
export {
  type BrokerSample,
  type OrchestratorSample,
  type SampledSeries,
  type SamplesQuery,
  type SamplesReply,
  sampledMetrics,
  sampleLimits,
  samplesReplySchema,
} from './wire/samples.ts';
export { type Undeliverable, undeliverableReasons, undeliverableSchema } from './wire/undeliverable.ts';

// Names of agents, messages and tokens.

export {
  type Address,
  agentOf,
  hostAgent,
  hostLabelPattern,
  isAddress,
  isAgentId,
  isGroup,
  isGroupName,
  isHostAgent,
  isNamedOperator,
  isOperator,
  isRecipient,
  isReservedName,
  isSubInbox,
  memberAddress,
  parseAddress,
  roleOfGroup,
} from './names/address.ts';
export { type BrokerAddress, parseBrokerAddress, socketAddress } from './names/broker-address.ts';
export {
  configuredSender,
  configuredSenderName,
  configuredSenderPrefixes,
  isConfiguredSender,
  isConfiguredSenderRole,
} from './names/configured-sender.ts';
export { isLoopback } from './names/loopback.ts';
export { idPattern, isOutsideId, outsideId, replyIdOf, timeSortedId } from './names/message-id.ts';
export {
  addressSchema,
  groupSchema,
  idSchema,
  kindPattern,
  kindSchema,
  recipientSchema,
  rolePattern,
  roleSchema,
  wellKnownKinds,
} from './names/name-schemas.ts';
export { hostRole, isOfSystem, isPrivileged, servesCalls } from './names/privileged-roles.ts';
export { matchesPattern } from './names/star-pattern.ts';
export {
  agentOfToken,
  isJwt,
  isMintingPattern,
  issuerOfToken,
  maxTokenLength,
  mintingPatternOf,
  parseTokenFile,
  type TokenFile,
  tokenFileFault,
  tokenFileProblem,
  tokenFileText,
  tokenText,
  withoutTokens,
} from './names/token-text.ts';

// Tool calls: the bodies of their messages, and MCP itself.

export {
  type Approval,
  type ApprovalState,
  type ApprovalsReply,
  approvalStates,
  approvalsReplySchema,
  type DecideReply,
  decideReplySchema,
  revokeStandingReplySchema,
  type StandingApproval,
  standingApprovalsReplySchema,
} from './mcp/approval-replies.ts';
export { type CallRound, fromWireRound, toWireRound } from './mcp/call-round.ts';
export {
  type BudgetUse,
  type CallRecord,
  type CallRecordOutcome,
  type CallStatus,
  type CancelCallReply,
  callRecordSchema,
  callStatusSchema,
  callsReplySchema,
  cancelCallReplySchema,
  maxBudgetUses,
  type TaskState,
  taskStateSchema,
} from './mcp/call-status.ts';
export { type ClientFormsOfTool, toolForClient, withClientForms } from './mcp/client-forms.ts';
export {
  type AcceptDefinitionsReply,
  type AcceptDefinitionsRequest,
  acceptDefinitionsReplySchema,
  type DefinitionDifference,
  type DefinitionKind,
  type DefinitionReport,
  type DefinitionsReply,
  type DefinitionsRequest,
  definitionKinds,
  definitionsReplySchema,
} from './mcp/definitions.ts';
export {
  type Hosted,
  type HostedList,
  type HostedListReply,
  type HostedReply,
  hostedListReplySchema,
  hostedReplySchema,
} from './mcp/hosted.ts';
export { JsonLineReader, jsonLine } from './mcp/json-lines.ts';
export { type JsonRpcHead, jsonRpcHead, plainIdPattern } from './mcp/json-rpc-head.ts';
export {
  isKeptResultUri,
  type KeptPart,
  type KeptRange,
  type KeptRangeFields,
  type KeptRead,
  keptRange,
  keptRangeLimits,
  keptRangeMeta,
  keptResultMeta,
  keptResultUri,
  leastInlineBytes,
  parseKeptResultUri,
  resultReadTool,
} from './mcp/kept-result.ts';
export {
  isAtLeast,
  type McpLogLevel,
  type McpLogMessage,
  mcpLogLevelSchema,
  mcpLogMessageSchema,
} from './mcp/log-message.ts';
export {
  type BackupReply,
  backupReplySchema,
  type ExplainedStep,
  type Explanation,
  explanationSchema,
  type MatrixReply,
  type McpContentExplanation,
  matrixReplySchema,
  mcpContentExplanationSchema,
  type SearchReply,
  type SubscriptionsReply,
  searchReplySchema,
  subscriptionsReplySchema,
} from './mcp/lookup-replies.ts';
export {
  type MailboxAccess,
  type MailboxToolName,
  mailboxToolNames,
  type UnreadHint,
  unreadHints,
} from './mcp/mailbox-tools.ts';
export { mayRepeat, type RepeatOverride, repeatOverrideOf, withRepeatOverride } from './mcp/may-repeat.ts';
export {
  type McpContentKinds,
  type McpContentMethod,
  mcpContentMethods,
  type PageToolReply,
  type Prompt,
  pageToolReplySchema,
  promptSchema,
  type Resource,
  type ResourceTemplate,
  resourceSchema,
  resourceTemplateSchema,
  type ServerInstructions,
} from './mcp/mcp-content.ts';
export {
  type InputRequired,
  isInputRequired,
  type KeptAnswer,
  type McpReply,
  type McpResult,
  mcpReplySchema,
  mcpResultSchema,
  type ProxiedResult,
  toProxiedResult,
  withDataAsText,
} from './mcp/mcp-reply.ts';
export {
  type ApprovalsRequest,
  type AskPermissionRequest,
  type BackupRequest,
  briefArgumentsLength,
  type CallRequest,
  type CallsRequest,
  type CancelCallRequest,
  type CancelTaskRequest,
  type DecideRequest,
  type DiscoverRequest,
  type ExplainMcpContentRequest,
  type ExplainRequest,
  hostedOps,
  type ManifestRequest,
  type McpContentRequest,
  type McpRequest,
  maxPages,
  maxStandingMs,
  maxSubscriptions,
  mcpRequestParser,
  minStandingMs,
  type NotePermissionRequest,
  type OwnCallsRequest,
  openOps,
  type PageToolRequest,
  questionHash,
  type RevokeStandingRequest,
  type SearchRequest,
  type ServerRequest,
  type StatusRequest,
  type SubscriptionsRequest,
  type TaskRequest,
  type UpdateTaskRequest,
} from './mcp/mcp-request.ts';
export { forwardedMeta, type RequestMeta, withoutOwnMeta } from './mcp/request-meta.ts';
export {
  isNamedUri,
  isPageUri,
  namedUri,
  normalUri,
  parseNamedUri,
  whyNotNormal,
} from './mcp/resource-uri.ts';
export {
  isQuestionMethod,
  isRunningCallState,
  type NoAnswer,
  type QuestionKind,
  type QuestionMethod,
  questionCapabilities,
  questionKinds,
  runningCallState,
} from './mcp/server-questions.ts';
export {
  type DiscoveryReply,
  discoveryReplySchema,
  type HostReport,
  type ServerReply,
  type ServerReport,
  type ServersReply,
  type StartFailureReport,
  serverReplySchema,
  serverReportSchema,
  serversReplySchema,
  type ToolChangeReport,
  type UnshownReport,
} from './mcp/server-report.ts';
export { maxTaskRounds, taskRoundId, tasksExtension } from './mcp/task-rounds.ts';
export {
  askDeadlineOf,
  defaultAskDeadlineMs,
  type Manifest,
  manifestSchema,
  type Tool,
  toolSchema,
  withAskDeadline,
} from './mcp/tool.ts';
export { toolCallError } from './mcp/tool-call-error.ts';
export { type ToolCallError, toolCallErrorSchema } from './mcp/tool-call-error-schema.ts';
export { type ToolErrorCode, toolErrorCodes } from './mcp/tool-error-codes.ts';
export { mayBeOfTemplate, templateMatcher, templateShape } from './mcp/uri-template.ts';
export { readKeptAnswer, readWholeKept } from './mcp/whole-kept-result.ts';
export { readWholeManifest } from './mcp/whole-manifest.ts';
export { workerFaceCapability } from './mcp/worker-face.ts';

// Permissions and errors.

export {
  isPermitted,
  operationPermissions,
  type Permission,
  permissions,
  permissionsOfRole,
} from './permissions.ts';
export { messageOf, SignalboxError } from './signalbox-error.ts';
