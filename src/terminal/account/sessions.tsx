import { useEffect, useState } from "preact/hooks";
import type { PerpdError } from "../../client/error.ts";
import type { OpenSessionList } from "../../client/types.ts";
import { Dialog } from "../dialogs/dialog.tsx";
import { Refused } from "../dialogs/refused.tsx";
import { signOut } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { dayAndClock } from "../text/format.ts";
import { request } from "./requests.ts";

/** The account's open sessions on all devices. */
export function SessionsDialog({ onClose }: { onClose: () => void }) {
  const [sessions, setSessions] = useState<OpenSessionList["data"] | null>(null);
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const read = async (): Promise<void> =>
    setRefusal(await request(async (client) => setSessions((await client.sessions()).data)));
  useEffect(() => void read(), []);
  const end = async (sessionId: string, isCurrent: boolean): Promise<void> => {
    const refused = await request((client) => client.endSession(sessionId));
    if (refused !== null) return setRefusal(refused);
    if (isCurrent) signOut();
    else await read();
  };
  const endAll = async (): Promise<void> => {
    const refused = await request((client) => client.logoutEverywhere());
    if (refused !== null) return setRefusal(refused);
    signOut();
  };
  return (
    <Dialog title={text.accountDialogs.sessions} onClose={onClose}>
      <p class="note">{text.accountDialogs.sessionsHint}</p>
      {sessions === null && refusal === null && <p class="note">{text.loading}</p>}
      <ul class="entries" aria-label={text.accountDialogs.sessions}>
        {(sessions ?? []).map(({ sessionId, expiresAt, current }) => (
          <li key={sessionId}>
            <div>
              <strong>{current ? text.accountDialogs.thisSession : text.accountDialogs.otherSession}</strong>{" "}
              <span class="muted">{text.accountDialogs.ends(dayAndClock(expiresAt))}</span>
              <code>{sessionId}</code>
            </div>
            <button type="button" class="mini" onClick={() => void end(sessionId, current)}>
              {current ? text.signOut : text.accountDialogs.endSession}
              <span class="hidden"> {sessionId}</span>
            </button>
          </li>
        ))}
      </ul>
      <Refused refusal={refusal} fields={[]} />
      <button type="button" class="chip danger" onClick={() => void endAll()}>
        {text.accountDialogs.endAllSessions}
      </button>
    </Dialog>
  );
}
