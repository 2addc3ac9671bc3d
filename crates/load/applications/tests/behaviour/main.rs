//! Behaviour of applications with their real servers. Each test says so and returns where they are
//! absent.

mod mail;
mod place;
mod shop;
mod web;
