import type { Json } from "./schemas.ts";

interface AsyncApi {
  info: { description: string };
  channels: Record<string, Channel>;
  operations: Record<string, Operation>;
}
interface Channel {
  description: string;
  messages: Record<string, Message>;
}
interface Message {
  summary: string;
  description?: string;
  examples: { payload: unknown }[];
}
interface Operation {
  action: "receive" | "send";
  title: string;
  summary: string;
  description?: string;
  channel: { $ref: string };
  messages: { $ref: string }[];
  reply?: { messages: { $ref: string }[] };
}

/** asyncapi.json as Markdown with its examples, for readers of openapi.json. */
export function socketMarkdown(document: Json): string {
  const { info, channels, operations } = document as unknown as AsyncApi;
  const all = Object.values(operations);
  const requests = all.filter(({ action }) => action === "receive").map((each) => requestText(each, channels));
  const streams = all.filter(({ action }) => action === "send").map((each) => streamText(each, channels));
  return [
    "[asyncapi.json](asyncapi.json) has the same content, and the schema of every message.",
    info.description,
    ...requests,
    ...streams,
  ].join("\n\n");
}

function requestText(
  { title, summary, description, messages, reply }: Operation,
  channels: AsyncApi["channels"],
): string {
  const [request] = resolve(messages, channels);
  const [answer, error] = resolve(reply?.messages ?? [], channels);
  return [
    `### ${title}`,
    description === undefined ? `${summary}.` : `${summary}. ${description}`,
    ...(request?.examples ?? []).map(({ payload }) => json(payload)),
    "Answer:",
    ...(answer?.examples ?? []).map(({ payload }) => json(payload)),
    "Errors:",
    error?.description ?? "",
  ].join("\n\n");
}

function streamText({ title, channel, messages }: Operation, channels: AsyncApi["channels"]): string {
  const { description = "" } = channels[channel.$ref.split("/").at(-1) ?? ""] ?? {};
  const shown = resolve(messages, channels).flatMap(({ summary, examples }) => [
    summary,
    ...examples.map(({ payload }) => json(payload)),
  ]);
  return [`### ${title}`, description, ...shown].join("\n\n");
}

function resolve(references: readonly { $ref: string }[], channels: AsyncApi["channels"]): Message[] {
  return references.flatMap(({ $ref }) => {
    const [, , channel = "", , name = ""] = $ref.split("/");
    return channels[channel]?.messages[name] ?? [];
  });
}

const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
