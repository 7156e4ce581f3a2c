import assert from "node:assert/strict";
import WebSocket from "ws";
import { asyncApiDocument } from "../../../../src/front/documents/asyncapi.ts";
import { UNKNOWN_OP_ERRORS } from "../../../../src/front/documents/socket-requests.ts";
import { declaredRoutes } from "../../../../src/reference/declared.ts";
import { Checker, closed, type Json } from "./document-checks.ts";

interface Document {
  channels: Record<string, { messages: Record<string, { payload: Json }> }>;
  operations: Record<string, { title: string; reply?: { messages: { $ref: string }[] } }>;
  components: { schemas: Record<string, Json> };
}

const document = closed(asyncApiDocument(declaredRoutes(), "test")) as Document;
const checker = new Checker(document.components);

/** The error of an op, by the op. */
const errors = new Map<string, Json>();
/** All other messages of the exchange, by name. */
const payloads = new Map<string, Json>();

for (const { messages } of Object.values(document.channels))
  for (const [name, { payload }] of Object.entries(messages)) {
    const constants = constantsOf(payload);
    if (!name.endsWith("Request") && !name.endsWith("Error")) payloads.set(nameOf(constants), payload);
  }
for (const { title, reply } of Object.values(document.operations)) {
  const [, channel = "", name = ""] =
    /channels\/(\w+)\/messages\/(\w+Error)$/.exec(reply?.messages[1]?.$ref ?? "") ?? [];
  const error = document.channels[channel]?.messages[name];
  if (error !== undefined) errors.set(title, error.payload);
}

/** The name of a message. */
function nameOf({ op, channel, type }: Said): string {
  return op === undefined ? `${channel} ${type}` : String(op);
}

function constantsOf(payload: Json): Said {
  const { $ref } = payload as { $ref?: string };
  const schema = $ref === undefined ? payload : document.components.schemas[$ref.split("/").at(-1) ?? ""];
  const { properties = {} } = schema as { properties?: Record<string, { const?: unknown }> };
  const { op, channel, type } = properties;
  return { op: op?.const, channel: channel?.const, type: type?.const };
}

const elsewhere: Json = {
  allOf: [{ $ref: "#/components/schemas/SocketError" }, { properties: { code: { enum: UNKNOWN_OP_ERRORS } } }],
};

type Id = string | number | null;
interface Said {
  op?: unknown;
  id?: Id;
  channel?: unknown;
  type?: unknown;
}

/** Checks the messages of one socket against asyncapi.json. */
export class MessageCheck {
  /** Allowed errors, by the id of the requests sent. */
  private readonly expected = new Map<Id, Set<Json>>();

  sent(text: string): void {
    const { op, id = null } = read(text);
    const error = errors.get(String(op)) ?? elsewhere;
    this.expected.set(id, (this.expected.get(id) ?? new Set()).add(error));
  }

  /** Fails unless the document allows it. */
  received(text: string): void {
    const message = JSON.parse(text) as Said;
    if (message.op === "error") return this.refused(message);
    const name = nameOf(message);
    const payload = payloads.get(name);
    assert.ok(payload !== undefined, `no such message is documented: ${text.slice(0, 500)}`);
    checker.check(payload, message, `the message ${name}`);
  }

  private refused(message: Said): void {
    const allowed = [...(this.expected.get(message.id ?? null) ?? [])];
    if (allowed.some((schema) => checker.allows(schema, message))) return;
    checker.check(allowed[0] ?? elsewhere, message, "the error");
  }
}

function read(text: string): Said {
  try {
    return Object(JSON.parse(text)) as Said;
  } catch {
    return {};
  }
}

/** A client's WebSocket on which a message that asyncapi.json does not allow is an uncaught exception. */
export class DocumentedWebSocket extends WebSocket {
  private readonly check = new MessageCheck();

  constructor(...parameters: ConstructorParameters<typeof WebSocket>) {
    super(...parameters);
    this.on("message", (bytes) => this.check.received(String(bytes)));
  }

  override send(data: unknown, ...more: unknown[]): void {
    this.check.sent(String(data));
    (super.send as (...parameters: unknown[]) => void).call(this, data, ...more);
  }
}
