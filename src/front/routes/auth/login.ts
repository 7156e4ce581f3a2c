import { LEDGER } from "../../../core/base/enums.ts";
import { MAX_SESSIONS_PER_ACCOUNT } from "../../../core/ledger/sessions.ts";
import { OpenSession } from "../../../core/protocol/commands.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { SessionView } from "../../../core/protocol/replies.ts";
import { errorsIn } from "../../../wire/error-codes.ts";
import { Challenge, ChallengeBody, LoginBody, Session } from "../../../wire/schema/auth.ts";
import { hashToken, newToken } from "../../../wire/token.ts";
import { PAGE_COST, SIGNATURE_COST } from "../../auth/limits.ts";
import { replyOf, request } from "../../exchange/request.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const challengeRoute = ({ wallets }: Context): Route =>
  route({
    method: "POST",
    path: "/auth/challenge",
    access: "PUBLIC",
    summary: "Get the message that a wallet signs to log in",
    cost: PAGE_COST,
    body: ChallengeBody,
    replies: { 200: Challenge },
    handle({ call, body }) {
      call.reply(200, JSON.stringify(wallets.issue(body.address, body.chainId, Date.now())));
    },
  });

export const loginRoute = ({ engine, wallets, credentials, limits, sessionTtlMs }: Context): Route =>
  route({
    method: "POST",
    path: "/auth/login",
    access: "PUBLIC",
    summary: "Open a session with a signed challenge",
    description:
      "The first login of a wallet opens its account. An account has at most " +
      `${MAX_SESSIONS_PER_ACCOUNT} sessions; one more ends the oldest.`,
    cost: SIGNATURE_COST,
    body: LoginBody,
    replies: { 200: Session },
    errors: errorsIn("LOGIN"),
    async handle({ call, body }) {
      const remoteAddress = call.remoteAddress();
      const now = Date.now();
      const wallet = await wallets.redeem(body.message, body.signature, now);
      const address = wallet.toLowerCase();
      if (!credentials.hasAccount(address)) limits?.payForAccount(remoteAddress, performance.now());
      const token = newToken();
      const command = { ...blank(OpenSession), address, tokenHash: hashToken(token), expiresAt: now + sessionTtlMs };
      const session = await request(engine, LEDGER, command, (transaction) => {
        const { accountId, expiresAt } = replyOf<MessageOf<typeof SessionView>>(transaction, SessionView.code);
        return { token, accountId: String(accountId), address: wallet, expiresAt };
      });
      call.reply(200, JSON.stringify(session));
    },
  });
