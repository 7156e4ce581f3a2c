import { LEDGER } from "../../../core/base/enums.ts";
import { CloseSession } from "../../../core/protocol/commands.ts";
import { blank } from "../../../core/protocol/message-schema.ts";
import { Done } from "../../../core/protocol/replies.ts";
import { errorsIn } from "../../../wire/error-codes.ts";
import { EndedSessions, LoggedOut, OpenSessionList } from "../../../wire/schema/auth.ts";
import { SessionId } from "../../../wire/schema/scalars.ts";
import { sessionIdOf } from "../../../wire/token.ts";
import { ApiError } from "../../common/errors.ts";
import { replyOf, requestFor } from "../../exchange/request.ts";
import type { Call } from "../../http/call.ts";
import { listJson } from "../../json/json-writers.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const logoutRoute = (context: Context): Route =>
  route({
    method: "POST",
    path: "/auth/logout",
    access: "SESSION",
    summary: "End the session of this request",
    replies: { 200: LoggedOut },
    handle({ call, principal: { accountId, credential } }) {
      closeSessions(context, call, accountId, credential, () => ({ accountId: String(accountId), loggedOut: true }));
    },
  });

export const sessionsRoute = ({ credentials }: Context): Route =>
  route({
    method: "GET",
    path: "/auth/sessions",
    access: "SESSION",
    summary: "The open sessions of the account",
    replies: { 200: OpenSessionList },
    handle({ call, principal: { accountId, credential } }) {
      const rows = credentials.sessionsOf(accountId, Date.now()).map((session) =>
        JSON.stringify({
          sessionId: sessionIdOf(session.credential),
          expiresAt: session.expiresAt,
          current: session.credential === credential,
        }),
      );
      call.reply(200, listJson(rows, null));
    },
  });

export const endSessionsRoute = (context: Context): Route =>
  route({
    method: "DELETE",
    path: "/auth/sessions",
    access: "SESSION",
    summary: "End all sessions of the account, also the one of this request. API keys stay",
    replies: { 200: EndedSessions },
    handle({ call, principal: { accountId } }) {
      endSessions(context, call, accountId, ALL_SESSIONS);
    },
  });

export const endSessionRoute = (context: Context): Route =>
  route({
    method: "DELETE",
    path: "/auth/sessions/:sessionId",
    access: "SESSION",
    summary: "End one session of the account",
    parameter: SessionId,
    replies: { 200: EndedSessions },
    errors: errorsIn("END_SESSION"),
    handle({ call, principal: { accountId }, parameter }) {
      const sessions = context.credentials.sessionsOf(accountId, Date.now());
      const session = sessions.find(({ credential }) => sessionIdOf(credential) === parameter);
      if (session === undefined) throw new ApiError("SESSION_NOT_FOUND", { field: "sessionId" });
      endSessions(context, call, accountId, session.credential);
    },
  });

/** The tokenHash of CloseSession that means every session of the account. */
const ALL_SESSIONS = "";

const endSessions = (context: Context, call: Call, accountId: number, tokenHash: string): void =>
  closeSessions(context, call, accountId, tokenHash, (ended) => ({ accountId: String(accountId), ended }));

/** `describe` makes the reply from the number of sessions that have ended. */
function closeSessions(
  context: Context,
  call: Call,
  accountId: number,
  tokenHash: string,
  describe: (ended: number) => object,
): void {
  requestFor(context, call, LEDGER, { ...blank(CloseSession), accountId, tokenHash }, (transaction) => {
    replyOf(transaction, Done.code);
    call.reply(200, JSON.stringify(describe(transaction.eventCount)));
  });
}
