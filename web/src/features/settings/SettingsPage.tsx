/** The reader's settings, and the server's cache. */

import { statePlace, storageProblem } from "../../state/marks";
import { program } from "../../state/runs";
import { isAdmin, isTeam, logout, mayWrite, role, user } from "../../state/team/people";
import { choose, PAD_CHARS, settings, WORD_CHARS } from "../../state/browser/settings";
import { Segments } from "../../ui/controls/Segments";
import { Text } from "../../ui/text/Text";
import { Cache } from "./Cache";
import pageStyle from "../../ui/layout/page.module.css";
import { TypedField } from "../../ui/controls/TypedField";
import style from "./SettingsPage.module.css";

const THEMES = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const;

const COLOURS = [
  { value: "usual", label: "Red to green" },
  { value: "safe", label: "Colour-blind safe" },
] as const;

const STOPS = [0, 1, 2, 3, 4];

export function SettingsPage() {
  const { theme, rewardColours, openAtEnd, padToken, promptAfter, goodWord, badWord } = settings.value;
  return (
    <main class={`${pageStyle["page"]} ${style["page"]}`}>
      <h1>Settings</h1>
      <div class={style["groups"]}>
        <section class={style["section"]} aria-label="Appearance">
          <h2>Appearance</h2>
          <div class={style["line"]}>
            <span>Theme</span>
            <Segments label="Theme" options={THEMES} value={theme} choose={(value) => choose({ theme: value })} />
          </div>
          <div class={style["line"]}>
            <span>Reward</span>
            <span class={style["reward"]}>
              <Segments
                label="Colours of the reward"
                options={COLOURS}
                value={rewardColours}
                choose={(value) => choose({ rewardColours: value })}
              />
              <span class={style["scale"]} aria-hidden="true">
                low{" "}
                {STOPS.map((stop) => (
                  <i key={stop} style={{ background: `var(--reward-${stop})` }} />
                ))}{" "}
                high
              </span>
            </span>
          </div>
        </section>
        <section class={style["section"]} aria-label="Reading">
          <h2>Reading</h2>
          <label class={style["check"]}>
            <input
              type="checkbox"
              checked={openAtEnd}
              onChange={(event) => choose({ openAtEnd: event.currentTarget.checked })}
            />
            <span>
              Long text opens at its end
              <small>The end is what the model produced last. Applies to the next text.</small>
            </span>
          </label>
          <label class={style["line"]}>
            <span>Prompt starts after</span>
            <span class={style["token"]}>
              <TypedField
                class="field mono"
                type="text"
                maxLength={200}
                spellcheck={false}
                placeholder="a token or a word"
                value={promptAfter}
                take={(typed) => choose({ promptAfter: typed })}
              />
              <small>
                If no chat template divides a prompt, the text before this is shown as a system prompt, and lists leave
                it out.
              </small>
            </span>
          </label>
          <label class={style["line"]}>
            <span>Pad token</span>
            <span class={style["token"]}>
              <TypedField
                class="field mono"
                type="text"
                maxLength={PAD_CHARS}
                spellcheck={false}
                placeholder="an id or a token"
                value={padToken}
                take={(typed) => choose({ padToken: typed.trim() })}
              />
              <small>
                Previews leave it out, and so does the view of tokens, at either end of a sample whose record has no
                attention mask and names no pad token.
              </small>
            </span>
          </label>
        </section>
        <section class={style["section"]} aria-label="Judging">
          <h2>Judging</h2>
          <label class={style["line"]}>
            <span>Word for “good”</span>
            <span class={style["token"]}>
              <TypedField
                class="field"
                type="text"
                maxLength={WORD_CHARS}
                placeholder="good"
                value={goodWord}
                take={(typed) => choose({ goodWord: typed.trim() })}
              />
            </span>
          </label>
          <label class={style["line"]}>
            <span>Word for “bad”</span>
            <span class={style["token"]}>
              <TypedField
                class="field"
                type="text"
                maxLength={WORD_CHARS}
                placeholder="bad"
                value={badWord}
                take={(typed) => choose({ badWord: typed.trim() })}
              />
              <small>The page uses your words. Filters, files and Python keep good and bad.</small>
            </span>
          </label>
        </section>
        {isAdmin.value && <Cache />}
        <section class={style["section"]} aria-label="Your data">
          <h2>Your data</h2>
          {isTeam.value && (
            <p>
              You are <Text text={user.value} />, with the role {role.value} on this server.
              {!mayWrite.value && " Your choices last for this visit."}
              {logout.value !== "" && (
                <>
                  {" "}
                  <a href={logout.value}>Log out</a>
                </>
              )}
            </p>
          )}
          <p>
            Names, colours and notes of runs, bookmarks, notes and judgements, and these settings are stored{" "}
            {isTeam.value ? "on the server." : "in"}
          </p>
          {!isTeam.value && <p class={style["path"]}>{statePlace.value}</p>}
          {storageProblem.value !== "" && (
            <p class={style["trouble"]} role="alert">
              Changes are not saved. {storageProblem.value}.
              {!isTeam.value && " Free space, repair or move the file, or start the server with --state-dir."} The next
              change retries.
            </p>
          )}
        </section>
      </div>
      <p class={style["program"]}>
        {program.value}. This browser stores the widths of panes and whether they are open.
      </p>
    </main>
  );
}
