-- Tables of a social calendar. PERSONS, TAGS and EVENTS stand for their numbers, SEED for one from 0
-- to 1. Shape of the data: Olio's (tags, events, 10 to 100 attendees, 0 to 20 comments and 1 to 7 tags
-- an event). Schema, names and code are our own. In one transaction, the rows of new tables need no
-- log (wal_level = minimal).

SELECT setseed(SEED)

BEGIN

CREATE TABLE person (id int PRIMARY KEY, name text NOT NULL, about text NOT NULL)

INSERT INTO person SELECT n, 'Person ' || n || ' ' || md5(random()::text), md5(random()::text) || md5(random()::text) FROM generate_series(1, PERSONS) n

CREATE TABLE tag (id int PRIMARY KEY, name text NOT NULL)

INSERT INTO tag SELECT n, 'tag' || n FROM generate_series(1, TAGS) n

CREATE TABLE event (id int PRIMARY KEY, organiser int NOT NULL, crowd smallint NOT NULL, talk smallint NOT NULL, held date NOT NULL, title text NOT NULL, summary text NOT NULL, about text NOT NULL, place text NOT NULL)

INSERT INTO event SELECT n, 1 + floor(random() * PERSONS)::int, 10 + floor(random() * 91)::int, floor(random() * 21)::int, date '2026-01-01' + n % 365, 'Event ' || n || ' ' || md5(random()::text), md5(random()::text) || ' ' || md5(random()::text), md5(random()::text) || ' ' || md5(random()::text) || ' ' || md5(random()::text) || ' ' || md5(random()::text) || ' ' || md5(random()::text) || ' ' || md5(random()::text), n % 1000 || ' Street ' || md5(random()::text) FROM generate_series(1, EVENTS) n

CREATE SEQUENCE event_id START WITH EVENTS

SELECT setval('event_id', EVENTS)

CREATE TABLE event_tag (tag int NOT NULL, event int NOT NULL)

INSERT INTO event_tag SELECT DISTINCT 1 + floor(random() * TAGS)::int, e.id FROM event e, generate_series(1, 1 + e.id % 7)

ALTER TABLE event_tag ADD PRIMARY KEY (tag, event)

CREATE INDEX event_tag_event ON event_tag (event)

CREATE TABLE attendee (event int NOT NULL, person int NOT NULL)

INSERT INTO attendee SELECT DISTINCT e.id, 1 + floor(random() * PERSONS)::int FROM event e, generate_series(1, e.crowd)

ALTER TABLE attendee ADD PRIMARY KEY (event, person)

CREATE TABLE comment (event int NOT NULL, number smallint NOT NULL, person int NOT NULL, rating smallint NOT NULL, words text NOT NULL)

INSERT INTO comment SELECT e.id, n, 1 + floor(random() * PERSONS)::int, 1 + n % 5, md5(random()::text) || ' ' || md5(random()::text) || ' ' || md5(random()::text) || ' ' || md5(random()::text) FROM event e, generate_series(1, e.talk) n

ALTER TABLE comment ADD PRIMARY KEY (event, number)

CREATE FUNCTION add_event(new int, who int, what int) RETURNS void LANGUAGE sql AS $$ INSERT INTO event VALUES (new, who, 1, 0, current_date, 'Event ' || new || ' ' || md5(new::text), md5('s' || new) || ' ' || md5('t' || new), md5('a' || new) || ' ' || md5('b' || new), new % 1000 || ' Street ' || md5('p' || new)); INSERT INTO event_tag VALUES (what, new); INSERT INTO attendee VALUES (new, who) $$

COMMIT

VACUUM ANALYZE

CHECKPOINT
