/**
 * Metadata comes before `body`, so that reading it never touches the overflow pages of a large one.
 */
export const inboxSchema = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES ('seq_reserved', 0), ('identity', lower(hex(randomblob(16))));

  CREATE TABLE message (
    seq INTEGER PRIMARY KEY,
    inbox TEXT NOT NULL,
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    sender_address TEXT NOT NULL,
    sender_role TEXT NOT NULL,
    kind TEXT NOT NULL,
    correlation_id TEXT,
    traceparent TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    size INTEGER NOT NULL,
    body TEXT,
    token_id TEXT
  );
  CREATE UNIQUE INDEX message_by_id ON message (id, inbox, sender);
  CREATE INDEX message_by_inbox ON message (inbox, seq);
  -- Few messages have a token; the others pay nothing for the index.
  CREATE INDEX message_by_token ON message (token_id) WHERE token_id IS NOT NULL;

  CREATE TABLE dead_letter (
    seq INTEGER PRIMARY KEY,
    inbox TEXT NOT NULL,
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    sender_address TEXT NOT NULL,
    sender_role TEXT NOT NULL,
    kind TEXT NOT NULL,
    correlation_id TEXT,
    traceparent TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    size INTEGER NOT NULL,
    dead_at INTEGER NOT NULL,
    reason TEXT,
    body TEXT
  );

  CREATE TABLE journal (inbox TEXT PRIMARY KEY, journal_id TEXT NOT NULL) WITHOUT ROWID;

  -- What each commit did, as long as it is recent: see messages.ts.
  CREATE TABLE record (number INTEGER PRIMARY KEY, entries TEXT NOT NULL, bodies TEXT NOT NULL);

  -- Settled messages, some hundred in a row: see settled-pages.ts.
  CREATE TABLE settled_page (number INTEGER PRIMARY KEY, until INTEGER NOT NULL, bytes INTEGER NOT NULL, ids TEXT NOT NULL);
  CREATE TABLE settled_content (number INTEGER PRIMARY KEY, hashes BLOB NOT NULL, entries TEXT NOT NULL);

  -- Of the table of messages: counting the rows of a long inbox takes seconds.
  CREATE TABLE inbox_count (
    inbox TEXT NOT NULL, sender TEXT NOT NULL, pending INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (inbox, sender)
  ) WITHOUT ROWID;

  -- Unsettled messages of one inbox that aged together: see bundles.ts.
  CREATE TABLE bundle (
    number INTEGER PRIMARY KEY, inbox TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, ids TEXT NOT NULL, hashes BLOB NOT NULL, entries TEXT NOT NULL, bodies TEXT NOT NULL
  );
  CREATE INDEX bundle_by_inbox ON bundle (inbox, last);
  CREATE INDEX bundle_by_expiry ON bundle (expires_at);
`;
